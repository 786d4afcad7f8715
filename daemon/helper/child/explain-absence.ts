import { isEmpty } from '../../../shared/probes/empty-answer.ts'
import type { HostProbe, ProbeShape } from '../../../shared/probes/probe.ts'

const NOTHING = 'the library returned nothing'

/** Explains in plain words why an answer of the library holds nothing; undefined when it does. */
export const explainAbsence = (
  probe: HostProbe,
  answer: unknown,
  input: never,
): string | undefined => {
  const { shape, emptyReason } = probe
  if (answer !== null && !hasShape(answer, shape))
    return `the library did not return a value of type ${shape}`
  if (answer === null || (emptyReason !== undefined && isEmpty(answer)))
    return typeof emptyReason === 'function' ? emptyReason(input) : (emptyReason ?? NOTHING)
  return probe.explainInvented?.(answer as never)
}

const hasShape = (answer: unknown, shape: ProbeShape): boolean => {
  if (shape === 'list') return Array.isArray(answer)
  if (shape === 'text') return typeof answer === 'string'
  if (shape === 'number') return typeof answer === 'number'
  return typeof answer === 'object' && !Array.isArray(answer)
}
