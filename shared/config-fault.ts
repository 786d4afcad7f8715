import * as z from 'zod'

/** Longest value that an error message repeats, in characters; secrets are never repeated. */
const MAX_SHOWN = 60
export const isSecret = (name: string): boolean => /(token|secret|credential|password)$/.test(name)

type Path = readonly PropertyKey[]
type Node = z.core.JSONSchema.BaseSchema

/** Describes one configuration fault in a sentence: the key, its value, and the allowed values. */
export const describeConfigFault = (
  schema: z.ZodObject,
  values: unknown,
  found: z.core.$ZodIssue,
): string => {
  const issue = innerIssue(found)
  const node = nodeAt(schemaOf(schema), issue.path, values)
  if (issue.code === 'unrecognized_keys') return describeUnknownKeys(issue.path, issue.keys, node)
  const key = issue.path.join('.') || 'the configuration'
  const value = valueAt(values, issue.path)
  if (value === undefined && issue.code !== 'custom')
    return `${key} is missing: ${describeAllowed(node)}`
  const is = value === undefined ? key : `${key} is ${quoteValue(key, value)}`
  return `${is}: ${issue.code === 'custom' ? issue.message : describeAllowed(node)}`
}

/** Issue inside the only choice of a union that fits apart from it. */
const innerIssue = (issue: z.core.$ZodIssue): z.core.$ZodIssue => {
  if (issue.code !== 'invalid_union') return issue
  const near = issue.errors.filter(branch => branch.every(({ path }) => path.length > 0))
  const [inner] = near.length === 1 ? (near[0] ?? []) : []
  return inner === undefined
    ? issue
    : innerIssue({ ...inner, path: [...issue.path, ...inner.path] })
}

const describeUnknownKeys = (
  path: Path,
  names: readonly string[],
  node: Node | undefined,
): string => {
  const known = listProperties(node).join(', ')
  return names
    .map(name => `${[...path, name].join('.')} is not a known key; known keys: ${known}`)
    .join('\n  ')
}

/** Keys that an object at a path may have; none where the schema does not list them. */
export const listKnownKeys = (schema: z.ZodType, path: Path, values: unknown): string[] =>
  listProperties(nodeAt(schemaOf(schema), path, values))

const listProperties = (node: Node | undefined): string[] => Object.keys(node?.properties ?? {})

/** The password in an address such as `postgres://user:password@host`. */
const PASSWORD_IN_URL = /(\/\/[^/:@]*:)[^/]*@/g

const quoteValue = (key: string, value: unknown): string => {
  if (isSecret(key)) return '(hidden)'
  const text = JSON.stringify(value).replace(PASSWORD_IN_URL, '$1(hidden)@')
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

/** Describes the allowed values in plain words. */
const describeAllowed = (node: Node | undefined): string => {
  const allowed = node === undefined ? undefined : describeNode(node)
  return allowed === undefined ? 'not allowed here' : `expected ${allowed}`
}

const describeNode = (node: Node): string | undefined => {
  if (node.const !== undefined) return JSON.stringify(node.const)
  if (node.enum) return `one of ${node.enum.join(', ')}`
  const choices = node.anyOf ?? node.oneOf
  if (choices?.every(isWord))
    return `one of ${choices.map(choice => String((choice as Node).const)).join(', ')}`
  if (choices) return choices.map(choice => describeNode(choice as Node)).join(', or ')
  switch (node.type) {
    case 'integer':
      return `an integer${describeRange(node)}`
    case 'number':
      return `a number${describeRange(node)}`
    case 'boolean':
      return 'true or false'
    case 'string':
      return describeString(node)
    case 'array':
      return 'a list'
    case 'object':
      return 'an object'
    default:
      return undefined
  }
}

const isWord = (choice: unknown): boolean => typeof (choice as Node).const === 'string'

const describeRange = ({ minimum, maximum, exclusiveMinimum: above }: Node): string => {
  const from = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const to = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined
  if (above !== undefined)
    return to === undefined ? ` above ${above}` : ` above ${above}, up to ${to}`
  if (from !== undefined) return to === undefined ? ` from ${from}` : ` from ${from} to ${to}`
  return to === undefined ? '' : ` up to ${to}`
}

const describeString = ({ format, pattern, minLength, maxLength, examples }: Node): string => {
  if (format === 'uri') return `an address such as ${examples?.[0] ?? 'https://shoal.example'}`
  const length = [
    minLength === undefined ? '' : `at least ${minLength}`,
    maxLength === undefined ? '' : `at most ${maxLength}`,
  ].filter(part => part !== '')
  const of = length.length === 0 ? '' : ` of ${length.join(' and ')} characters`
  return `a string${of}${pattern === undefined ? '' : ` that matches ${pattern}`}`
}

const schemaOf = (schema: z.ZodType): Node =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })

/** Subschema at a path; undefined where the schema does not describe it. */
const nodeAt = (root: Node, path: Path, values: unknown): Node | undefined => {
  let node: Node | undefined = root
  for (const [depth, name] of path.entries()) {
    const above: Node[] =
      node === undefined ? [] : listChoices(node, valueAt(values, path.slice(0, depth)))
    const next: Node[] = above.map(one => childOf(one, name)).filter(one => one !== undefined)
    node = next.length > 1 ? { anyOf: next } : next[0]
  }
  const [only, ...others] = node === undefined ? [] : listChoices(node, valueAt(values, path))
  return others.length === 0 ? only : node
}

const childOf = (node: Node, name: PropertyKey): Node | undefined => {
  const next = typeof name === 'number' ? node.items : node.properties?.[String(name)]
  return typeof next === 'object' ? (next as Node) : undefined
}

/** Choices of a union that have the kind of the value; all of them where none has. */
const listChoices = (node: Node, value: unknown): Node[] => {
  const all = (node.anyOf ?? node.oneOf) as Node[] | undefined
  if (all === undefined) return [node]
  const fitting = all.filter(choice => isOfKind(choice, value))
  return fitting.length > 0 ? fitting : all
}

/** True for an object whose fixed members, such as `kind`, are those of this choice. */
const isOfKind = ({ properties = {} }: Node, value: unknown): boolean => {
  const fixed = Object.entries(properties).filter(([, one]) => (one as Node).const !== undefined)
  return (
    fixed.length > 0 && fixed.every(([name, one]) => valueAt(value, [name]) === (one as Node).const)
  )
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, name) => (at as Record<PropertyKey, unknown> | undefined)?.[name],
    value,
  )
