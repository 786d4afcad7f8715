/** Our extensions of A2A, by the names under which the card lists them. */
export const EXTENSIONS = {
  invocation: 'urn:shoal:a2a:skill-invocation:v1',
  schemas: 'urn:shoal:a2a:skill-schemas:v1',
  transitions: 'urn:shoal:a2a:state-transitions:v1',
  gates: 'urn:shoal:a2a:hitl-gates:v1',
  swarm: 'urn:shoal:a2a:swarm:v1',
} as const

const KNOWN: readonly string[] = Object.values(EXTENSIONS)

/** The extensions of a header that are ours: `A2A-Extensions`, `X-A2A-Extensions` before 1.0. */
export const parseExtensions = (header: string | string[] | undefined): string[] => {
  const asked = [header ?? []].flat().flatMap(value => value.split(','))
  return [...new Set(asked.map(uri => uri.trim()))].filter(uri => KNOWN.includes(uri))
}
