import { type ErrorCode, errorCodes, httpStatus } from '../../../../shared/errors.ts'
import { contentOf, type DocumentedOperation, jsonBody } from './documented-operation.ts'
import { curlOf } from './example.ts'
import { code, html } from './html.ts'
import { type Row, rowsOf, typeOf } from './schema-rows.ts'

/** Section of a route: description, access, parameters, an example and the response. */
export const routeSection = (
  baseUrl: string,
  method: string,
  path: string,
  operation: DocumentedOperation,
): string => {
  const body = jsonBody(operation)
  return `<section class="route" id="${html(operation.operationId)}">
<h3><b class="${html(method)}">${html(method.toUpperCase())}</b> ${code(path)}</h3>
<p>${html(operation.summary)}</p>
<p class="access">${accessOf(operation)}</p>
<h4>Example</h4>
<pre>${html(curlOf(baseUrl, method, path, operation))}</pre>
${table('Parameters', parameterRows(operation))}${
  body === undefined ? '' : table('Body', rowsOf(body.schema), 'any JSON object')
}${answerOf(operation)}
<p>Errors: ${errorsOf(operation)}.</p>
</section>`
}

const WHO: Record<string, string> = {
  none: 'No key is required.',
  key: 'Any key is accepted.',
  operator: 'The key needs an operator role.',
}

const accessOf = (operation: DocumentedOperation): string => {
  const { 'x-shoal-roles': roles, 'x-shoal-effect': effect, 'x-shoal-cli': cli } = operation
  const isCell = operation.security.some(scheme => 'cell' in scheme)
  const access = operation['x-shoal-access']
  const who = isCell ? 'A cell calls this for itself.' : (WHO[access] ?? `Access: ${access}.`)
  const command = cli && ['shoal', cli.group, cli.verb, ...argumentsOf(cli)]
  return [
    html(who),
    roles === undefined ? '' : `Roles: ${roles.map(code).join(', ')}.`,
    effect === undefined ? '' : `Effect: ${html(effect)}.`,
    command === undefined ? '' : `Command: ${code(command.join(' '))}.`,
  ]
    .filter(part => part !== '')
    .join(' ')
}

interface CommandPlace {
  arguments: string[]
  file?: string
  upload?: boolean
}

const argumentsOf = ({ arguments: names, file, upload }: CommandPlace) =>
  [...names, ...(file === undefined && upload !== true ? [] : ['file'])].map(name => `<${name}>`)

const parameterRows = ({ parameters }: DocumentedOperation): Row[] =>
  parameters.flatMap(({ name, in: place, required, description, schema }) =>
    rowsOf({
      properties: { [name]: description === undefined ? schema : { ...schema, description } },
      required: required ? [name] : [],
    }).map(row => ({
      ...row,
      note: `${place === 'path' ? 'In the path. ' : ''}${row.note}`.trim(),
    })),
  )

const table = (title: string, rows: readonly Row[], none = ''): string => {
  if (rows.length === 0) return none === '' ? '' : `<h4>${title}</h4>\n<p>${html(none)}</p>\n`
  return `<h4>${title}</h4>\n${rowsTable(rows, 'required')}\n`
}

/**
 * `marked` is the kind of field to label: the required ones in a request, the optional ones in a
 * response.
 */
const rowsTable = (rows: readonly Row[], marked: 'required' | 'optional'): string => {
  const lines = rows.map(
    ({ name, type, required, note }) =>
      `<tr><td>${code(name)}${required === (marked === 'required') ? ` <i>${marked}</i>` : ''}</td><td>${html(type)}</td><td>${html(note)}</td></tr>`,
  )
  return `<table><tr><th>Name</th><th>Type</th><th>Meaning</th></tr>\n${lines.join('\n')}</table>`
}

const answerOf = ({ responses }: DocumentedOperation): string => {
  const [status = '200', response] =
    Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  return Object.entries(contentOf(response))
    .map(([type, { schema }]) => {
      const rows = rowsOf(schema)
      const told =
        rows.length === 0 ? `<p>${html(typeOf(schema))}</p>` : rowsTable(rows, 'optional')
      return `<details><summary>Answer ${html(status)}, ${code(type)}</summary>\n${told}</details>`
    })
    .join('\n')
}

/** Error codes that only inference routes return. */
const OF_INFERENCE: readonly ErrorCode[] = [
  'tier_exceeded',
  'invalid_model',
  'unsupported_parameter',
  'context_length_exceeded',
]

/** The codes that a status can carry; the others of the table are met on any route. */
const errorsOf = ({ responses, tags }: DocumentedOperation): string => {
  const infers = tags.includes('inference')
  return Object.keys(responses)
    .filter(status => /^[45]/.test(status))
    .map(status => {
      const codes = errorCodes.filter(
        each => httpStatus(each) === Number(status) && (infers || !OF_INFERENCE.includes(each)),
      )
      return `${html(status)} (${codes.map(code).join(', ')})`
    })
    .concat('and what <a href="#errors">any route</a> may answer')
    .join(', ')
}
