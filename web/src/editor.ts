// The editor of the playground: CodeMirror with Python. Loaded when the playground is opened.
import {defaultKeymap, history, historyKeymap, indentWithTab} from '@codemirror/commands';
import {python} from '@codemirror/lang-python';
import {bracketMatching, indentOnInput, indentUnit, syntaxHighlighting} from '@codemirror/language';
import {EditorState, Prec, StateEffect, StateField} from '@codemirror/state';
import {Decoration, drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers,
        type DecorationSet} from '@codemirror/view';
import {classHighlighter} from '@lezer/highlight';

const setErrorLine = StateEffect.define<number | null>();
const errorMark = Decoration.line({class: 'cm-error-line'});

/** The marked line; gone with the next change, as it may be mended then. */
const errorLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    if (transaction.docChanged) marks = Decoration.none;
    for (const effect of transaction.effects) {
      if (!effect.is(setErrorLine)) continue;
      const line = effect.value;
      marks = line !== null && line >= 1 && line <= transaction.state.doc.lines
        ? Decoration.set(errorMark.range(transaction.state.doc.line(line).from)) : Decoration.none;
    }
    return marks;
  },
  provide: field => EditorView.decorations.from(field),
});

export interface Editor {
  text(): string;
  markLine(line: number | null): void;
  focus(): void;
  destroy(): void;
}

export function makeEditor(parent: HTMLElement, text: string, onRun: () => void, onChange: (text: string) => void): Editor {
  const run = Prec.highest(keymap.of([{key: 'Mod-Enter', run: () => { onRun(); return true; }}]));
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        run, lineNumbers(), history(), drawSelection(), highlightActiveLine(), highlightSpecialChars(), bracketMatching(),
        indentOnInput(), indentUnit.of('    '), python(), syntaxHighlighting(classHighlighter), errorLine,
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({'aria-label': 'Python code', 'aria-describedby': 'editor-help'}),
        EditorView.updateListener.of(update => { if (update.docChanged) onChange(update.state.doc.toString()); }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    markLine: line => {
      const visible = line !== null && line >= 1 && line <= view.state.doc.lines;
      const effects: StateEffect<unknown>[] = [setErrorLine.of(line)];
      if (visible) effects.push(EditorView.scrollIntoView(view.state.doc.line(line).from, {y: 'nearest', yMargin: 40}));
      view.dispatch({effects});
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
