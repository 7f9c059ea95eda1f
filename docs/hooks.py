"""For mkdocs: makes the figures of results/, which is not below docs/, a part of the site."""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for picture in sorted(Path(config.docs_dir).parent.glob("results/*.png")):
        files.append(File.generated(config, f"results/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace("](../results/", "](results/")
