import * as z from 'zod'

/** Longest value that an error message repeats, in characters; secrets are never repeated. */
const MAX_SHOWN = 60
export const isSecret = (name: string): boolean => /(token|secret|credential|password)$/.test(name)

type Path = readonly PropertyKey[]
type Node = z.core.JSONSchema.BaseSchema

/** Describes one configuration fault in a sentence: the key, its value, and the allowed values. */
export const configFault = (
  schema: z.ZodObject,
  values: unknown,
  issue: z.core.$ZodIssue,
): string => {
  const node = nodeAt(schemaOf(schema), issue.path)
  if (issue.code === 'unrecognized_keys') return unknownKeys(issue.path, issue.keys, node)
  const key = issue.path.join('.') || 'the configuration'
  const value = valueAt(values, issue.path)
  if (value === undefined && issue.code !== 'custom') return `${key} is missing: ${wanted(node)}`
  const is = value === undefined ? key : `${key} is ${shown(key, value)}`
  return `${is}: ${issue.code === 'custom' ? issue.message : wanted(node)}`
}

const unknownKeys = (path: Path, names: readonly string[], node: Node | undefined): string => {
  const known = Object.keys(node?.properties ?? {}).join(', ')
  return names
    .map(name => `${[...path, name].join('.')} is no key; here are: ${known}`)
    .join('\n  ')
}

const shown = (key: string, value: unknown): string => {
  if (isSecret(key)) return '(not shown)'
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

/** Allowed values, in words. */
const wanted = (node: Node | undefined): string => {
  const allowed = node === undefined ? undefined : allowedBy(node)
  return allowed === undefined ? 'this is not allowed here' : `it takes ${allowed}`
}

const allowedBy = (node: Node): string | undefined => {
  if (node.const !== undefined) return JSON.stringify(node.const)
  if (node.enum) return `one of ${node.enum.join(', ')}`
  const choices = node.anyOf ?? node.oneOf
  if (choices) return choices.map(choice => allowedBy(choice as Node)).join(', or ')
  switch (node.type) {
    case 'integer':
      return `a whole number${range(node)}`
    case 'number':
      return `a number${range(node)}`
    case 'boolean':
      return 'true or false'
    case 'string':
      return text(node)
    case 'array':
      return 'a list'
    case 'object':
      return 'keys of its own below it'
    default:
      return undefined
  }
}

const range = ({ minimum, maximum, exclusiveMinimum: above }: Node): string => {
  const from = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const to = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined
  if (above !== undefined)
    return to === undefined ? ` above ${above}` : ` above ${above}, up to ${to}`
  if (from !== undefined) return to === undefined ? ` from ${from}` : ` from ${from} to ${to}`
  return to === undefined ? '' : ` up to ${to}`
}

const text = ({ format, pattern, minLength, maxLength }: Node): string => {
  if (format === 'uri') return 'an address such as https://shoal.example'
  const length = [
    minLength === undefined ? '' : `at least ${minLength}`,
    maxLength === undefined ? '' : `at most ${maxLength}`,
  ].filter(part => part !== '')
  const of = length.length === 0 ? '' : ` of ${length.join(' and ')} characters`
  return `a text${of}${pattern === undefined ? '' : ` that matches ${pattern}`}`
}

const schemaOf = (schema: z.ZodObject): Node =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })

/** Subschema at a path; undefined where the schema does not describe it. */
const nodeAt = (root: Node, path: Path): Node | undefined =>
  path.reduce<Node | undefined>((node, name) => {
    const next = typeof name === 'number' ? node?.items : node?.properties?.[String(name)]
    return typeof next === 'object' ? (next as Node) : undefined
  }, root)

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, name) => (at as Record<PropertyKey, unknown> | undefined)?.[name],
    value,
  )
