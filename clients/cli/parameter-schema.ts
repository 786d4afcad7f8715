/** JSON Schema of the parameters of a command, as profiles announce it. */
interface ParameterSchema {
  type: 'object'
  properties: Record<string, unknown>
  required?: unknown
}

interface Parameter {
  type?: unknown
  enum?: unknown
  const?: unknown
  minimum?: unknown
  maximum?: unknown
  default?: unknown
}

export const isParameterSchema = (value: object): value is ParameterSchema => {
  const { type, properties } = value as Partial<ParameterSchema>
  return type === 'object' && typeof properties === 'object' && properties !== null
}

/** Parameters in one line, the optional ones in brackets: `x_m=-10..10 [speed_m_s=0.05..1.5 (0.5)]`. */
export const describeParameters = ({ properties, required }: ParameterSchema): string => {
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties)
    .map(([name, schema]) => {
      const text = `${name}=${describeValues((schema ?? {}) as Parameter)}`
      const { default: preset } = (schema ?? {}) as Parameter
      if (preset !== undefined) return `[${text} (${JSON.stringify(preset)})]`
      return needed.includes(name) ? text : `[${text}]`
    })
    .join(' ')
}

const describeValues = ({ type, enum: choices, const: only, minimum, maximum }: Parameter) => {
  if (Array.isArray(choices)) return choices.join('|')
  if (only !== undefined) return JSON.stringify(only)
  const kind = typeof type === 'string' ? type : 'json'
  if (kind !== 'number' && kind !== 'integer') return kind === 'string' ? 'text' : kind
  const [from, to] = [minimum, maximum].map(bound => (isBound(bound) ? String(bound) : ''))
  return from === '' && to === '' ? kind : `${from}..${to}`
}

/** The limits of safe integers are no limits of the device. */
const isBound = (bound: unknown): bound is number =>
  typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER
