import * as z from 'zod'

/**
 * Names whose characters have no meaning to a shell, a pattern or a path, and cannot start an
 * option.
 */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}$/

export const names = (description: string) =>
  z.array(z.string().regex(NAME).max(64)).min(1).max(20).describe(description)

export const containerId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/)
  .max(128)
  .optional()
  .describe('Id or name of one container; all by default.')

export const all = z
  .boolean()
  .default(false)
  .describe('Include stopped containers and untagged images.')
