"""Drop-ins: modules with the names, parameters and files of python-crfsuite and sklearn-crfsuite, and crftrain's training beneath."""
