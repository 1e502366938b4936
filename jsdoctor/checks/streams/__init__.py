"""What checks of several families need to know of streams: how full they are, who reads them, what they store."""
