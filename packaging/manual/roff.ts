/* Text in the macros of man(7). */

/** Text that roff shows as it is: hyphens can be copied, and no line begins a request. */
export const escapeRoff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')

interface Title {
  name: string
  section: 1 | 8
  summary: string
}

/** Head of a page. It has no date, so that equal sources make equal packages. */
export const pageHead = ({ name, section, summary }: Title): string =>
  `.TH ${escapeRoff(name.toUpperCase())} ${section} "" shoal
.SH NAME
${escapeRoff(name)} \\- ${escapeRoff(summary)}
`

export const formatSection = (name: string, body: string): string =>
  body === '' ? '' : `.SH ${escapeRoff(name)}\n${body}`

export const formatParagraph = (text: string): string => `.PP\n${escapeRoff(text)}\n`

/** Text whose lines stay as they are. */
export const formatVerbatim = (text: string): string =>
  `.PP\n.nf\n${escapeRoff(text.trimEnd())}\n.fi\n`

/** A term with its description below it. */
export const formatTerm = (term: string, text: string): string =>
  `.TP\n\\fB${escapeRoff(term)}\\fR\n${escapeRoff(text === '' ? ' ' : text)}\n`
