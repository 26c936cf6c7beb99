"""What an endpoint allows: calls at once, requests and tokens a minute, room for a reply."""
