import { ShoalError } from '../../shared/errors.ts'
import { formatOutput, type PrintableRows } from '../../shared/print.ts'
import { escapeHidden, escapeHiddenInJson, hasHidden } from '../../shared/visible.ts'

/** Formats answers; `columns` is the width of the terminal, if there is one. */
export interface Printer {
  toText: (value: PrintableRows, columns?: number) => string
  /** Formats one of several answers, such that a program can tell where each ends. */
  toNextText: (value: PrintableRows) => string
}

/** Printer for a value of `--format`; commands with formats of their own print text. */
export const loadPrinter = async (format: string): Promise<Printer> => {
  if (format === 'yaml') return loadYamlPrinter()
  if (format === 'name') return { toText: formatIds, toNextText: formatIds }
  if (format === 'json')
    return {
      toText: value => formatOutput(value, 'json'),
      toNextText: value => `${escapeHiddenInJson(JSON.stringify(value))}\n`,
    }
  const toText: Printer['toText'] = (value, columns) =>
    formatOutput(value, format === 'table' ? 'table' : 'text', columns)
  return { toText, toNextText: value => toText(value) }
}

const formatIds = (value: PrintableRows): string =>
  listIds(value)
    .map(id => `${escapeHidden(id)}\n`)
    .join('')

/** Length from which a text may take several lines: none does. */
const ONE_LINE = Number.MAX_SAFE_INTEGER

/** YAML 1.2, in which the escapes of JSON are valid within double quotes. */
const loadYamlPrinter = async (): Promise<Printer> => {
  const { Document, Scalar, visit } = await import('yaml')
  const toText = (value: PrintableRows): string => {
    const document = new Document(value, { aliasDuplicateObjects: false })
    visit(document, {
      Scalar: (_key, node) => {
        if (typeof node.value === 'string' && hasHidden(node.value)) node.type = Scalar.QUOTE_DOUBLE
      },
    })
    return escapeHiddenInJson(
      document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: ONE_LINE }),
    )
  }
  return { toText, toNextText: value => `---\n${toText(value)}` }
}

type Row = Record<string, unknown>

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Ids in an answer: its own, or those of the rows of its list. */
export const listIds = (value: PrintableRows): string[] => {
  const own = isRow(value) ? idOf(value) : undefined
  if (own !== undefined) return [own]
  const list = Array.isArray(value) ? value : Object.values(value).find(Array.isArray)
  const ids = (list ?? []).map((item: unknown) =>
    isRow(item) ? (idOf(item) ?? nameOf(item)) : item,
  )
  if (list === undefined || !ids.every(id => typeof id === 'string'))
    throw new ShoalError('wrong_usage', 'this answer has no ids: use --format json')
  return ids
}

/** `id`, or the first member that is an id, such as `gate_id` of a gate. */
export const idOf = (row: Row): string | undefined => {
  if (typeof row.id === 'string') return row.id
  const [name, value] = Object.entries(row)[0] ?? []
  return name?.endsWith('_id') && typeof value === 'string' ? value : undefined
}

/** Name that people gave to the object of a row. */
export const nameOf = ({ name, label, title }: Row): string | undefined =>
  [name, label, title].find(value => typeof value === 'string' && value !== '') as
    | string
    | undefined
