import { spawn, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Command, Message, Program } from './shoal-worker.ts'

const root = resolve(import.meta.dirname, '..', '..')
export const SHOAL = join(root, 'bin', 'shoal.mjs')

export interface ProgramResult {
  code: number | null
  out: string
  err: string
}

export type Environment = Record<string, string>

/** The command line as a process of its own, with nothing of ours in its environment. */
export const spawnShoal = (
  env: Environment,
  args: readonly string[],
  input = '',
): Promise<ProgramResult> => runProgram(SHOAL, env, args, input)

/**
 * Runs the command line in a thread that has loaded it: a process of its own takes a quarter of
 * a second of CPU time to load. Variables that Node reads at its start need `spawnShoal`, and so do
 * tests that the program ends.
 */
export const shoal = (
  env: Environment,
  args: readonly string[],
  input = '',
): Promise<ProgramResult> => {
  const all = { PATH: process.env.PATH ?? '', ...env }
  return runInThread(CLIENT, { env: all, args, input })
}

const urlOf = (source: string): string => pathToFileURL(join(root, source)).href
const CLIENT: Program = { url: urlOf('clients/cli/main.ts'), exits: false }
const COORDINATOR: Program = { url: urlOf('coordinator/main.ts'), exits: true }

/** Threads that wait for a command, by their program. */
const idle = new Map<Program, Set<Worker>>([CLIENT, COORDINATOR].map(each => [each, new Set()]))

const takeThread = (program: Program): Worker => {
  const waiting = idle.get(program) ?? new Set()
  const [thread] = waiting
  if (thread === undefined) return createThread(program, waiting)
  waiting.delete(thread)
  return thread
}

const createThread = (workerData: Program, waiting: Set<Worker>): Worker => {
  const thread = new Worker(new URL('shoal-worker.ts', import.meta.url), { env: {}, workerData })
  return thread.once('exit', () => waiting.delete(thread))
}

const runInThread = (program: Program, command: Command): Promise<ProgramResult> => {
  const thread = takeThread(program)
  const { promise, resolve: done, reject } = Promise.withResolvers<ProgramResult>()
  const said = { out: '', err: '' }
  const end = (code: number): void => {
    thread.off('message', onMessage).off('exit', end).off('error', reject)
    done({ code, ...said })
  }
  const onMessage = (message: Message): void => {
    if ('stream' in message) {
      said[message.stream] += message.text
      return
    }
    end(message.code)
    if (message.isUsedUp) return void thread.terminate()
    // a thread that waits for its next command keeps no test from ending
    thread.unref()
    idle.get(program)?.add(thread)
  }
  thread.on('message', onMessage).on('exit', end).on('error', reject)
  thread.ref()
  thread.postMessage(command)
  return promise
}

/** Runs a command of the coordinator in a process of its own, likewise. */
export const spawnCoordinator = (
  env: Environment,
  args: readonly string[],
): Promise<ProgramResult> => runProgram(join(root, 'bin', 'shoal-coordinator.mjs'), env, args)

/** A command of the coordinator in a thread; it takes half a second of CPU time to load. */
export const coordinator = (env: Environment, args: readonly string[]): Promise<ProgramResult> =>
  runInThread(COORDINATOR, { env, args, input: '' })

const runProgram = async (
  script: string,
  env: Environment,
  args: readonly string[],
  input = '',
): Promise<ProgramResult> => {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  // one that needs no input may be over before it is written
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<number | null>(done => child.once('exit', done))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await ended, out, err }
}

export const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0

/** Runs a program on a terminal of its own; after `wait` for a text it types what follows. */
const TERMINAL = `
import fcntl, json, os, pty, select, struct, sys, termios
spec = json.loads(sys.stdin.read())
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, spec['columns'], 0, 0))
    os.execvpe(spec['argv'][0], spec['argv'], spec['env'])
out, steps, seen = b'', spec['steps'], 0
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    out += piece
    while steps and steps[0]['wait'].encode() in out[seen:]:
        step = steps.pop(0)
        seen = len(out)
        os.write(fd, step['type'].encode())
_, status = os.waitpid(pid, 0)
print(json.dumps({'code': os.waitstatus_to_exitcode(status), 'out': out.decode('utf8', 'replace')}))
`

interface TerminalOptions {
  columns?: number
  env?: Environment
  steps?: { wait: string; type: string }[]
}

/** What a person sees, and the exit code. Needs python3, see `hasPython`. */
export const runInTerminal = async (
  argv: readonly string[],
  { columns = 80, env = {}, steps = [] }: TerminalOptions = {},
): Promise<{ code: number; out: string }> => {
  const child = spawn('python3', ['-c', TERMINAL], { stdio: ['pipe', 'pipe', 'inherit'] })
  const all = { PATH: process.env.PATH ?? '', TERM: 'xterm', ...env }
  child.stdin.end(JSON.stringify({ argv, columns, env: all, steps }))
  return JSON.parse(await text(child.stdout))
}
