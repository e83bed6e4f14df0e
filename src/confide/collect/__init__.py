"""Collecting reports over the network: invitations, the service, and a client."""
