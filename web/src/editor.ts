// The editor of the playground: CodeMirror with Python. Loaded when the playground is opened.
import {defaultKeymap, history, historyKeymap, indentWithTab} from '@codemirror/commands';
import {python} from '@codemirror/lang-python';
import {bracketMatching, indentOnInput, indentUnit, syntaxHighlighting} from '@codemirror/language';
import {EditorState, Prec, StateEffect, StateField} from '@codemirror/state';
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  type DecorationSet,
} from '@codemirror/view';
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
      marks =
        line !== null && line >= 1 && line <= transaction.state.doc.lines
          ? Decoration.set(errorMark.range(transaction.state.doc.line(line).from))
          : Decoration.none;
    }
    return marks;
  },
  provide: field => EditorView.decorations.from(field),
});

// The editor lives in a shadow root: there it brings its style as an object, where in the page itself it would make a
// <style> element, which the page's policy forbids. Names of colours reach in from outside.
const STYLE = `
.cm-editor { height: 100%; min-height: 16rem; font-size: 0.87rem; background: transparent;
  border-radius: 0 0 10px 10px; }
.cm-editor.cm-focused { outline: 2px solid var(--accent); outline-offset: -2px; }
.cm-editor .cm-scroller { font-family: var(--mono); line-height: 1.55; }
.cm-editor .cm-gutters { background: transparent; border: 0; color: var(--quiet); }
.cm-editor .cm-lineNumbers .cm-gutterElement { padding: 0 0.6rem 0 1rem; }
.cm-editor .cm-activeLine, .cm-editor .cm-activeLineGutter {
  background: color-mix(in srgb, var(--ink) 4%, transparent); color: inherit; }
.cm-editor .cm-content { caret-color: var(--ink); padding: 0.6rem 0; }
.cm-editor .cm-cursor { border-left-color: var(--ink); }
.cm-editor.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground,
.cm-editor .cm-selectionBackground {
  background: color-mix(in srgb, var(--accent) 28%, transparent); }
.cm-editor .cm-line.cm-error-line { background: var(--bad-soft); box-shadow: inset 3px 0 0 var(--bad); }
.tok-keyword, .tok-operatorKeyword, .tok-bool { color: var(--k-keyword); }
.tok-string, .tok-string2 { color: var(--k-string); }
.tok-number, .tok-literal { color: var(--k-number); }
.tok-comment { color: var(--k-comment); font-style: italic; }
.tok-definition, .tok-className, .tok-macroName, .tok-meta { color: var(--k-name); }
`;

function shadowOf(parent: HTMLElement): ShadowRoot {
  const root = parent.attachShadow({mode: 'open'});
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  return root;
}

export interface Editor {
  text(): string;
  markLine(line: number | null): void;
  focus(): void;
  destroy(): void;
}

export function makeEditor(
  parent: HTMLElement,
  text: string,
  onRun: () => void,
  onChange: (text: string) => void,
): Editor {
  const run = Prec.highest(
    keymap.of([
      {
        key: 'Mod-Enter',
        run: () => {
          onRun();
          return true;
        },
      },
    ]),
  );
  const root = shadowOf(parent);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        run,
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightSpecialChars(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of('    '),
        python(),
        syntaxHighlighting(classHighlighter),
        errorLine,
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          tabindex: '0',
          'aria-label': 'Python code. Control and Enter runs it; Escape, then Tab leaves the editor.',
        }),
        EditorView.updateListener.of(update => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
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
