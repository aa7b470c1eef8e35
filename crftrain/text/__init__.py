"""From bytes to numbers: files are read into sentences, templates expanded, strings numbered."""
