"""Raw replies of servers to evidence. Pure: live runs, bundles and pastes all go through `replies.assemble`."""
