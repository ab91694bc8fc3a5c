// Tables of values and of CSV files. Every cell is text.
import {visible} from './ansi';
import {isNumber} from './csv';

const cellText = (text: string) => visible(text.length > 500 ? text.slice(0, 500) + ' …' : text);

export function DataTable({
  head,
  body,
  label,
}: {
  head: string[][];
  body: {text: string; header?: boolean}[][];
  label: string;
}) {
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label={label}>
      <table>
        {head.length > 0 && (
          <thead>
            {head.map(row => (
              <tr>
                {row.map((text, at) => (text === '' && at === 0 ? <td /> : <th scope="col">{cellText(text)}</th>))}
              </tr>
            ))}
          </thead>
        )}
        <tbody>
          {body.map(row => (
            <tr>
              {row.map(({text, header}) =>
                header ? (
                  <th scope="row">{cellText(text)}</th>
                ) : (
                  <td class={isNumber(text) ? 'number' : ''}>{cellText(text)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
