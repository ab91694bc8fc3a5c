// Python in colours, line by line, by the grammar that the editor uses. Loaded when the first code is shown.
import {classHighlighter, highlightCode} from '@lezer/highlight';
import {parser} from '@lezer/python';
import type {Piece} from './ansi';

export function highlight(code: string): Piece[][] {
  const lines: Piece[][] = [[]];
  highlightCode(
    code,
    parser.parse(code),
    classHighlighter,
    (text, classes) => lines[lines.length - 1]!.push({text, classes}),
    () => lines.push([]),
  );
  return lines;
}
