"""The steps that `jsdoctor fix` plans for actions, by what they are about. Pure."""
