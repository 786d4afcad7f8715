import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { coordinator, type Environment, type ProgramResult, shoal } from './shoal-program.ts'

const bin = resolve(import.meta.dirname, '..', '..', 'bin')
const PROGRAMS: Readonly<Record<string, typeof coordinator>> = {
  shoal,
  'shoal-coordinator': coordinator,
}

/** Sends its arguments and does what the answer says; the program itself reads the input of a shell. */
const writeScript = (name: string, socket: string): string => `#!/bin/sh
case " $* " in *' - '*) exec '${join(bin, name)}.mjs' "$@" ;; esac
answer=$(printf '%s\\0' "$@" | curl -sSf --unix-socket '${socket}' --data-binary @- http://shell/${name}) || exit
eval "$answer"
`

/**
 * Makes a folder for the path of a shell, whose programs run in threads of this process: a process of
 * its own takes a quarter to half a second of CPU time for each command.
 */
export const placePrograms = async (t: Test, env: Environment): Promise<string> => {
  // the path of a socket has room for about a hundred letters (unix(7))
  const folder = mkdtempSync(join(tmpdir(), 'shoal-shell-'))
  const socket = join(folder, 'socket')
  const server = createServer(async (request, response) => {
    const run = PROGRAMS[request.url?.slice(1) ?? ''] ?? shoal
    const words = (await text(request)).split('\0').slice(0, -1)
    response.end(formatAnswer(await run(env, words)))
  })
  await once(server.listen(socket), 'listening')
  t.teardown(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  for (const name of Object.keys(PROGRAMS))
    writeFileSync(join(folder, name), writeScript(name, socket), { mode: 0o755 })
  return folder
}

/** The answer is a script of its own: what the shell prints, and its exit code. */
const formatAnswer = ({ out, err, code }: ProgramResult): string =>
  `printf %s ${quote(out)}; printf %s ${quote(err)} >&2; exit ${code ?? 1}`

const quote = (words: string): string => `'${words.replaceAll("'", "'\\''")}'`
