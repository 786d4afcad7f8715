import type { RegexLiteral } from './regex-literals.ts'

// the other backends are programs for some platforms, and Java
process.env.RECHECK_BACKEND = 'pure'

/** Growth of an expression with its text, by the checker; `linear` where that is proved. */
export const checkRegex = async (
  { source, flags }: Pick<RegexLiteral, 'source' | 'flags'>,
  timeoutSeconds = 20,
): Promise<string> => {
  const { checkSync } = await import('recheck')
  const checked = checkSync(source, flags, { timeout: timeoutSeconds * 1000 })
  if (checked.status === 'safe') return 'linear'
  return checked.status === 'vulnerable' ? checked.complexity.summary : checked.status
}
