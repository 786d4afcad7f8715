import { type Condition, pathOf } from './flow.ts'

/** Outputs of completed steps, by step id. */
type StepOutputs = ReadonlyMap<string, unknown>

/** True when every condition is met; a field that does not exist compares as null. */
export const areConditionsMet = (conditions: readonly Condition[], outputs: StepOutputs): boolean =>
  conditions.every(condition => isConditionMet(condition, outputs))

const isConditionMet = (
  { from, is, is_not, above, below }: Condition,
  outputs: StepOutputs,
): boolean => {
  const value = readPath(from, outputs) ?? null
  if (is !== undefined && value !== is) return false
  if (is_not !== undefined && value === is_not) return false
  if (above !== undefined && !(typeof value === 'number' && value > above)) return false
  return below === undefined || (typeof value === 'number' && value < below)
}

/** Replaces each `{ $from: path }` with the value at the path; a missing value is omitted. */
export const resolveInput = (
  input: Readonly<Record<string, unknown>>,
  outputs: StepOutputs,
): Record<string, unknown> => resolve(input, outputs) as Record<string, unknown>

const resolve = (value: unknown, outputs: StepOutputs): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(member => resolve(member, outputs))
  const path = pathOf(value)
  if (path !== undefined) return readPath(path, outputs)
  const members = Object.entries(value).map(([name, member]) => [name, resolve(member, outputs)])
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

const readPath = (path: string, outputs: StepOutputs): unknown => {
  const [step = '', ...fields] = path.split('.')
  return fields.reduce<unknown>(
    (value, field) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, field)
        ? (value as Record<string, unknown>)[field]
        : undefined,
    outputs.get(step),
  )
}
