"""Reports: run folders become tables and figures. Reads files only; nothing here imports torch.

* :mod:`llpe.report.collect`: run folders → :class:`~llpe.report.collect.Run`
* :mod:`llpe.report.table`: runs → tables, and tables → text, Markdown, LaTeX, CSV
* :mod:`llpe.report.figures`: numbers → figures
"""
