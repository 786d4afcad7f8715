import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap } from '../coordinator/admin.ts'
import { createToken } from '../coordinator/keys/join-tokens.ts'
import { openStore } from '../coordinator/store/store.ts'

/**
 * `npm start`: a coordinator and one cell with the bundled models on this machine, in one
 * terminal. State, keys and logs stay in `.shoal/`; the next start takes them up again.
 */
interface Options {
  port: string
  state: string
}

const HELP = `Usage: npm start -- [--port 7070] [--state .shoal]

Starts a coordinator and one cell with the bundled demonstration models on this machine.
`

const root = resolve(import.meta.dirname, '..')

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      port: { type: 'string', default: '7070' },
      state: { type: 'string', default: join(root, '.shoal') },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(HELP)
    return
  }
  await bringUp({ port: values.port, state: resolve(values.state) })
}

const bringUp = async ({ port, state }: Options): Promise<void> => {
  mkdirSync(join(state, 'logs'), { recursive: true, mode: 0o700 })
  const prepared = await prepare(state)
  const url = `http://127.0.0.1:${port}`
  const children = new Set<ChildProcess>()
  let stopping = false

  const stop = (code: number): void => {
    if (stopping) return
    stopping = true
    process.exitCode = code
    for (const child of children) child.kill('SIGTERM')
  }
  const run = (name: string, args: string[], env: Record<string, string>): void => {
    const child = start(name, args, env, state)
    children.add(child)
    child.once('exit', code => {
      children.delete(child)
      if (!stopping) tellEnd(name, code, state)
      stop(code ?? 1)
    })
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop(0))

  run('shoal-coordinator', ['--http-port', port, '--state-dir', join(state, 'coordinator')], {})
  if (!(await answers(`${url}/readyz`, () => stopping))) return
  const environment =
    prepared.joinToken === undefined ? {} : { SHOAL_COORDINATOR_JOIN_TOKEN: prepared.joinToken }
  run('shoald', ['--coordinator-url', url, '--state-dir', join(state, 'cell')], environment)
  if (await answers(`${url}/v1/health`, () => stopping, isHealthy))
    process.stdout.write(banner(url, prepared.keys, state))
}

interface Prepared {
  /** Key by tier. */
  keys: Record<string, string>
  /** For the cell's first start; undefined when it has an identity. */
  joinToken: string | undefined
}

const TOKEN_TTL_MINUTES = 10

/** Makes tenant, keys and a join token where they are not there yet. */
const prepare = async (state: string): Promise<Prepared> => {
  const store = await openStore(join(state, 'coordinator'))
  try {
    const keysFile = join(state, 'keys.json')
    if (!existsSync(keysFile)) {
      const { keys } = await bootstrap(store)
      writeFileSync(keysFile, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
    }
    const enrolled = existsSync(join(state, 'cell', 'identity.json'))
    const keys = JSON.parse(readFileSync(keysFile, 'utf8'))
    if (enrolled) return { keys, joinToken: undefined }
    const once = { uses: 1, ttlMinutes: TOKEN_TTL_MINUTES }
    const { secret } = await createToken(store.ledger, once, { actor: 'bootstrap' })
    return { keys, joinToken: secret }
  } finally {
    await store.close()
  }
}

const logFile = (state: string, name: string): string => join(state, 'logs', `${name}.log`)

const start = (name: string, args: string[], env: Record<string, string>, state: string) => {
  const child = spawn(process.execPath, [join(root, 'bin', `${name}.mjs`), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // its own group: Ctrl-C reaches it through us, once
    detached: true,
  })
  const log = createWriteStream(logFile(state, name), { flags: 'a', mode: 0o600 })
  child.stdout.pipe(log, { end: false })
  child.stderr.pipe(log, { end: false })
  return child
}

const tellEnd = (name: string, code: number | null, state: string): void => {
  const path = logFile(state, name)
  const last = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-5).join('\n')
  process.stderr.write(`${name} ended with code ${code}; the last lines of ${path}:\n${last}\n`)
}

/** Asks until the answer is right; false when we stop before. */
const answers = async (
  url: string,
  stopping: () => boolean,
  isRight: (body: unknown) => boolean = () => true,
): Promise<boolean> => {
  while (!stopping()) {
    const body = await fetch(url).then(
      response => (response.ok ? response.json() : undefined),
      () => undefined,
    )
    if (body !== undefined && isRight(body)) return true
    await new Promise(done => setTimeout(done, 100))
  }
  return false
}

const isHealthy = (body: unknown): boolean => {
  const { status, models } = body as { status: string; models: number }
  return status === 'ok' && models > 0
}

const banner = (url: string, keys: Record<string, string>, state: string): string => {
  const key = keys.free ?? ''
  return `
shoal is up at ${url}

The models are small bundled demonstration weights: they know a little about shoal and say so.
Every model id is answered by them until you configure your own.

Keys (kept in ${join(state, 'keys.json')}):
${Object.entries(keys)
  .map(([name, value]) => `  ${name.padEnd(12)} ${value}`)
  .join('\n')}

Try it:
  curl ${url}/v1/chat/completions \\
    -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\
    -d '{"model":"model-a:7b","messages":[{"role":"user","content":"What is a cell?"}]}'

Logs are in ${join(state, 'logs')}. Ctrl-C stops everything.
`
}
