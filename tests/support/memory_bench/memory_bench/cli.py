"""Its command, as far as a data set can be seen in it: `splits --dataset NAME`."""

import typer

from memory_bench.dataset import get_dataset

app = typer.Typer()


@app.callback()
def program() -> None: ...


@app.command()
def splits(dataset: str = typer.Option("")) -> None:
    made = get_dataset(dataset)
    for split in made.splits:
        typer.echo(f"{split}  [{', '.join(made.categories(split))}]")
