"""The only place that starts processes: every tree that is started here is ended here.

``launch`` implements the ``Launcher`` port through a small zygote (``zygote``) that forks one shim
(``shim``) per dispatch; ``reap`` knows how a tree is ended; ``run`` is a blocking call for short
helper commands.
"""
