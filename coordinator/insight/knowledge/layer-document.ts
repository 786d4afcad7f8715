import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import { type CsvRow, CsvScanner, isEmptyRow } from '../../kernel/base/csv-scanner.ts'
import { unguardFormula } from '../../kernel/base/format-csv.ts'
import { readUpload } from '../../kernel/base/read-upload.ts'
import type { GraphEdge, GraphFacts, GraphNode } from './graph-model.ts'
import type { Attribute } from './graph-node.table.ts'

/** Kind and name without white space: `service:crm`. */
const NodeId = z
  .string()
  .max(200)
  .regex(/^[a-z][a-z0-9-]*:[^\s]+$/, 'must be a kind, a colon and a name, such as service:crm')
const Relation = z
  .string()
  .max(64)
  .regex(/^[a-z][a-z0-9_]*$/, 'must be a relation in snake case, such as depends_on')
const Weight = z.number().positive().max(1)

const NodeDocument = z.strictObject({
  id: NodeId,
  name: z.string().min(1).max(200).optional(),
  text: z.string().max(2000).default(''),
  attributes: z
    .record(z.string().max(64), z.union([z.string().max(500), z.number(), z.boolean(), z.null()]))
    .default({})
    .refine(fields => Object.keys(fields).length <= 32, 'has more than 32 attributes'),
})
const EdgeDocument = z.strictObject({
  source: NodeId,
  relation: Relation,
  target: NodeId,
  weight: Weight.default(1),
})
/** Values of the largest import, 200,000 characters, with room. */
const MAX_VALUES = 200_000

const LayerDocument = z.strictObject({
  nodes: z.array(NodeDocument).default([]),
  edges: z.array(EdgeDocument).default([]),
})

interface LayerFormat {
  format: 'json' | 'csv'
  layer: string
}

/** Reads an import off the event loop. Throws as `parseLayer` does. */
export const readLayer = (text: string, input: LayerFormat): Promise<GraphFacts> =>
  readUpload(text, 'text', {
    format: 'text',
    reader: { module: import.meta.url, name: 'parseLayer', input },
    limits: { maxValues: MAX_VALUES },
  }) as Promise<GraphFacts>

/**
 * Nodes and edges of an import. JSON is `{nodes, edges}`. CSV has a header line: with `source`,
 * `relation`, `target` and `weight` its lines are edges; with `id`, `name` and `text` they are nodes,
 * whose further columns are attributes. Throws `invalid_request` with the line or path of the fault.
 */
export const parseLayer = (text: string, { format, layer }: LayerFormat): GraphFacts => {
  const { nodes, edges } = format === 'json' ? parseJson(text) : parseRows(text)
  return {
    nodes: nodes.map(node => nodeOf(node, layer)),
    edges: edges.map((edge): GraphEdge => ({ ...edge, layer })),
  }
}

const nodeOf = (
  { id, name, text, attributes }: z.output<typeof NodeDocument>,
  layer: string,
): GraphNode => {
  const colon = id.indexOf(':')
  return {
    id,
    kind: id.slice(0, colon),
    name: name ?? id.slice(colon + 1),
    text,
    layer,
    attributes,
  }
}

const parseJson = (text: string): z.output<typeof LayerDocument> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw createRefusal(`the text is not JSON: ${(cause as Error).message}`)
  }
  const { data, error } = LayerDocument.safeParse(value)
  if (data !== undefined) return data
  throw createRefusal(firstIssue(error, value).message)
}

const parseRows = (text: string): z.output<typeof LayerDocument> => {
  const [header, ...rows] = scanRows(text)
  if (header === undefined) throw createRefusal('the text has no header line')
  const names = header.cells.map(cell => cell.trim())
  const isEdges = names.includes('source')
  const wanted = isEdges ? ['source', 'relation', 'target'] : ['id']
  const missing = wanted.find(name => !names.includes(name))
  if (missing !== undefined)
    throw createRefusal(`line 1: the column ${missing} is missing; there are ${names.join(', ')}`)
  const document: z.output<typeof LayerDocument> = { nodes: [], edges: [] }
  for (const { line, cells } of rows) {
    if (cells.length !== names.length)
      throw createRefusal(
        `line ${line}: ${cells.length} fields, but the header has ${names.length}`,
      )
    const fields = Object.fromEntries(
      names.map((name, at) => [name, unguardFormula(cells[at] ?? '')]),
    )
    if (isEdges) document.edges.push(read(EdgeDocument, edgeFields(fields), line))
    else document.nodes.push(read(NodeDocument, nodeFields(fields), line))
  }
  return document
}

/** Rows of a CSV text without empty lines. */
const scanRows = (text: string): CsvRow[] => {
  const scanner = new CsvScanner(text.length + 1)
  const rows = [...scanner.scan(text)]
  if (scanner.isQuoted)
    throw createRefusal(`line ${scanner.startLine}: a quoted field is not closed`)
  rows.push(...scanner.scan('\n'))
  return rows.filter(row => !isEmptyRow(row))
}

const edgeFields = ({ weight = '', ...fields }: Record<string, string>): object => ({
  ...fields,
  ...(weight === '' ? {} : { weight: Number(weight) }),
})

/** The column `attributes` of an export is a JSON object; other columns are attributes each. */
const nodeFields = (fields: Record<string, string>): object => {
  const { id, name, text = '', attributes: json = '', ...rest } = fields
  const attributes: Record<string, Attribute> = json === '' ? {} : parseObject(json)
  for (const [key, value] of Object.entries(rest)) if (value !== '') attributes[key] = value
  return { id, text, attributes, ...(name && { name }) }
}

const parseObject = (json: string): Record<string, Attribute> => {
  try {
    return { ...JSON.parse(json) }
  } catch {
    throw createRefusal(`attributes must be a JSON object, not ${json.slice(0, 40)}`)
  }
}

const read = <T extends z.ZodType>(schema: T, value: unknown, line: number): z.output<T> => {
  const { data, error } = schema.safeParse(value)
  if (error === undefined) return data as z.output<T>
  throw createRefusal(`line ${line}: ${firstIssue(error, value).message}`)
}

const createRefusal = (message: string): ShoalError =>
  new ShoalError('invalid_request', message, { param: 'text' })
