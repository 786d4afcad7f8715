import type { RegexLiteral } from './regex-literals.ts'

// the other backends are programs for some platforms, and Java
process.env.RECHECK_BACKEND = 'pure'

/** Time for a proof; most take milliseconds. */
const PROOF_MS = 2000

/**
 * Growth of an expression with its text; `linear` where that is proved, or where a search for texts
 * of larger growth finds none: proofs know no assertions and back references, and take too long
 * for some bounded repetitions.
 */
export const checkRegex = async (
  { source, flags }: Pick<RegexLiteral, 'source' | 'flags'>,
  timeoutSeconds = 20,
): Promise<string> => {
  const { checkSync } = await import('recheck')
  const proof = checkSync(source, flags, { checker: 'automaton', timeout: PROOF_MS })
  const checked =
    proof.status === 'unknown'
      ? checkSync(source, flags, { checker: 'fuzz', timeout: timeoutSeconds * 1000 })
      : proof
  if (checked.status === 'safe') return 'linear'
  return checked.status === 'vulnerable' ? checked.complexity.summary : checked.status
}
