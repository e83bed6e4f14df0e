"""Private samples of tables with words, near uniform and public references."""
