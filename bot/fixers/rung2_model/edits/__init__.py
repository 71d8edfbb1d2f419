"""From the text of a model's answer to changes of whole files, or typed reasons why not. Nothing is ever run."""
