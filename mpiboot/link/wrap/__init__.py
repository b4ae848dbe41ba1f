"""Parts of the rank wrapper: only small parts of the standard library, as they delay every rank."""
