/** How to write LP1, for a model: part of the description of the tool that applies patches. */
export const LP1_GUIDE = `A patch in LP1 (Line Patch v1):
LP1
F path/to/file
<operations>
END
Each "F path" begins a file (quote a path with spaces: F "a b.txt"). Operations run in order, each on the result of the one before:
R  replace: find-block, new block
I  insert after: find-block, new block
P  insert before: find-block, new block
E  erase: find-block
T  append at the end of the file: new block
B  put at the beginning of the file: new block
N + / N -  the file ends / does not end with a newline
A block is whole lines, ended by a line with only "." in column 1. A content line that begins with "." gets one more "." (".env" is written "..env"). Everything else in a block is literal: no quoting, no line numbers, exact spaces and tabs.
A find-block must match whole lines exactly and occur once in the file; add neighbouring lines until it does, or give the number of the match: R 2. An empty new block in R deletes.
A file that does not exist is made by T, B and N only; add "N +" last to end it with a newline. Files cannot be deleted or renamed. A line that begins with # between operations is a comment.
Example:
LP1
F src/app.ts
R
const port = 80;
.
const port = 8080;
.
I
import a from "a";
.
import b from "b";
.
F notes.txt
T
First line
.
N +
END
`;
