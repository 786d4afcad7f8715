import { escapeMarkup } from '../../../kernel/base/escape-markup.ts'
import { CONTROL_STATES, type FrameworkReport } from './report.ts'

const MARKS = { evidence_found: '[x]', partly: '[~]', missing: '[ ]', not_applicable: '[-]' }
const NOTE =
  'This report lists the available evidence. It does not state that anything is compliant.'

const formatCounts = (counts: FrameworkReport['counts']): string =>
  CONTROL_STATES.map(state => `${state.replace('_', ' ')} ${counts[state]}`).join(', ')

/** Formats the reports as plain text for a terminal or a mail. */
export const reportText = (reports: readonly FrameworkReport[], generatedAt: string): string =>
  [
    `Compliance report, ${generatedAt}`,
    NOTE,
    ...reports.flatMap(({ title, source, dates, counts, controls }) => [
      '',
      title,
      source,
      ...dates.map(({ date, what, status }) => `  ${date}  ${what} (${status})`),
      `  ${formatCounts(counts)}`,
      ...controls.flatMap(({ id, title: name, state, evidence, open }) => [
        `${MARKS[state]} ${id}  ${name}`,
        ...evidence.map(line => `      + ${line}`),
        ...open.map(line => `      - ${line}`),
      ]),
    ]),
    '',
  ].join('\n')

/** One page that prints well; nothing in it is loaded from elsewhere. */
export const reportHtml = (reports: readonly FrameworkReport[], generatedAt: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Compliance report</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}
table{border-collapse:collapse;width:100%;margin:1rem 0}td,th{border:1px solid #bbb;padding:.35rem .5rem;text-align:left;vertical-align:top}
th{background:#eee}.evidence_found{background:#e5f4e5}.partly{background:#fff6d9}.missing{background:#fbe3e3}.not_applicable{background:#f0f0f0}
ul{margin:.1rem 0;padding-left:1.1rem}.open{color:#8a1c1c}h2{break-before:page}h2:first-of-type{break-before:auto}tr{break-inside:avoid}
</style></head><body>
<h1>Compliance report</h1><p>${escapeMarkup(generatedAt)}. ${NOTE}</p>
${reports.map(frameworkHtml).join('\n')}
</body></html>
`

const frameworkHtml = ({ title, source, dates, counts, controls }: FrameworkReport): string =>
  `<h2>${escapeMarkup(title)}</h2><p>${escapeMarkup(source)}</p>
${dates.length === 0 ? '' : `<ul>${dates.map(({ date, what, status }) => `<li>${escapeMarkup(`${date}: ${what} (${status})`)}</li>`).join('')}</ul>`}
<p>${formatCounts(counts)}</p>
<table><thead><tr><th>Control</th><th>State</th><th>Evidence and what is open</th></tr></thead><tbody>
${controls
  .map(
    ({ id, title: name, state, evidence, open }) =>
      `<tr class="${state}"><td>${escapeMarkup(id)}<br>${escapeMarkup(name)}</td><td>${state.replace('_', ' ')}</td><td><ul>${evidence
        .map(line => `<li>${escapeMarkup(line)}</li>`)
        .join(
          '',
        )}${open.map(line => `<li class="open">${escapeMarkup(line)}</li>`).join('')}</ul></td></tr>`,
  )
  .join('\n')}
</tbody></table>`
