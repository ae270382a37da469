"""What editors ask while somebody writes a script: the Language Server Protocol, by hand."""
