import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as z from 'zod'
import { replacePrivate } from '../../shared/private-file.ts'

/** The session that was begun last, by the address of its coordinator. */
const Begun = z.record(z.string(), z.string())
type Begun = z.infer<typeof Begun>

/** State, by the XDG base directory specification. */
export const sessionsFile = (env: Record<string, string | undefined>): string =>
  join(
    env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'),
    'shoal',
    'sessions.json',
  )

export const begunAt = (file: string, url: string): string | undefined => read(file)[url]

export const keepBegun = (file: string, url: string, id: string): Promise<void> =>
  replacePrivate(file, JSON.stringify({ ...read(file), [url]: id }))

export const forgetBegun = async (file: string, url: string, id: string): Promise<void> => {
  const { [url]: last, ...others } = read(file)
  if (last === id) await replacePrivate(file, JSON.stringify(others))
}

/** What is lost here is only convenience: `--session` names one too. */
const read = (file: string): Begun => {
  try {
    return Begun.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}
