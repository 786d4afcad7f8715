import * as z from 'zod'

/** No sign here means anything to a shell, to a pattern or to a path, and none begins an option. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}$/

export const names = (what: string) =>
  z.array(z.string().regex(NAME).max(64)).min(1).max(20).describe(what)

export const containerId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/)
  .max(128)
  .optional()
  .describe('Id or name of one container; all of them by default.')

/** Scheme, host or address, port, and a path of plain letters: the library changes all others. */
export const siteUrl = z
  .string()
  .regex(/^https?:\/\/([a-z0-9][a-z0-9.-]{0,252})(:[0-9]{1,5})?(\/[a-z0-9._~/-]{0,500})?$/)
  .max(800)
  .describe(
    'Lower case, without a query; its host must stand in probes.allowed_targets of the cell.',
  )

export const targetHost = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.:-]{0,252}$/)
  .max(253)
  .describe('A name or an address that stands in probes.allowed_targets of the cell.')

/** What `host-versions` can be asked for; without a choice the library starts all of them. */
export const VERSIONED = [
  'bash',
  'bun',
  'deno',
  'docker',
  'dotnet',
  'fish',
  'gcc',
  'git',
  'java',
  'kernel',
  'mongodb',
  'mysql',
  'nginx',
  'node',
  'npm',
  'openssl',
  'perl',
  'php',
  'pip',
  'pip3',
  'pm2',
  'postfix',
  'postgresql',
  'python',
  'python3',
  'redis',
  'systemOpenssl',
  'tsc',
  'v8',
  'virtualbox',
  'yarn',
  'zsh',
] as const
