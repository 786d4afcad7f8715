type Json = unknown

/**
 * A recursive schema refers to its own `$defs`, seen from its root. Inside a larger document that
 * root is another one: the definitions move to `components.schemas`, under `prefix`.
 */
export const hoistDefinitions = <T>(
  value: T,
  prefix: string,
): { value: T; schemas: Record<string, Json> } => {
  const schemas: Record<string, Json> = {}
  let roots = 0

  const walk = (item: Json, root: string): Json => {
    if (Array.isArray(item)) return item.map(each => walk(each, root))
    if (typeof item !== 'object' || item === null) return item
    const { $defs, ...rest } = item as Record<string, Json>
    const here = $defs === undefined ? root : `${prefix}-${roots++}`
    for (const [name, definition] of Object.entries($defs ?? {}))
      schemas[`${here}${name}`] = walk(definition, here)
    return Object.fromEntries(
      Object.entries(rest).map(([name, each]) => [
        name,
        name === '$ref' ? reference(each, here) : walk(each, here),
      ]),
    )
  }
  return { value: walk(value, '') as T, schemas }
}

const reference = (target: Json, root: string): Json =>
  typeof target === 'string'
    ? target.replace(/^#\/\$defs\//, `#/components/schemas/${root}`)
    : target
