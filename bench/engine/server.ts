import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A program that answers OpenAI's chat completions over HTTP. */
export interface EngineServer {
  name: string
  url: string
  /** The processes whose CPU time counts. */
  pids(): number[]
  stop(): Promise<void>
}

/** A port that is free now; programs that cannot take port 0 need one. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a program and resolves when it answers at `path` with 200. */
export const startServer = async (
  name: string,
  [command = '', ...args]: string[],
  { port, path, env = {} }: { port: number; path: string; env?: Record<string, string> },
): Promise<{ url: string; child: ChildProcess; stop: () => Promise<void> }> => {
  const url = `http://127.0.0.1:${port}`
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH, ...env },
  })
  let ended = false
  for (const event of ['exit', 'error'])
    child.once(event, () => {
      ended = true
    })
  for (;;) {
    const answer = await fetch(url + path).catch(() => undefined)
    if (answer?.ok) break
    if (ended) throw new Error(`${name} ended before it was ready`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  const stop = async (): Promise<void> => {
    if (ended) return
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  }
  return { url, child, stop }
}
