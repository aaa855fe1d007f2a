"""What an authorizer is asked before an API works: the parts of `apis.authorization`."""
