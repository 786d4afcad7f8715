import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Opens a pseudo-terminal, prints its name, and reads what is written to it until it is killed. */
const OPEN = `
import os, pty, tty
master, slave = pty.openpty()
tty.setraw(slave)
print(os.ttyname(slave), flush=True)
while os.read(master, 65536): pass
`

/** A serial port whose device takes everything and never answers. */
export class SilentPort implements AsyncDisposable {
  readonly path: string
  readonly #program: ChildProcess

  private constructor(path: string, program: ChildProcess) {
    this.path = path
    this.#program = program
  }

  static async open(): Promise<SilentPort> {
    const program = spawn('python3', ['-c', OPEN], { stdio: ['ignore', 'pipe', 'ignore'] })
    const [name] = (await once(program.stdout, 'data')) as [Buffer]
    return new SilentPort(name.toString().trim(), program)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#program, 'exit')
    this.#program.kill('SIGKILL')
    await ended
  }
}
