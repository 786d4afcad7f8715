import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { checkPorts } from '../../bin/up/ports.ts'
import { onStopSignals } from '../../shared/stop-signals.ts'

const root = resolve(import.meta.dirname, '..', '..')

t.test('several signals from one key press count once', async t => {
  const listeners = new Map<string, () => void>()
  const source = { on: (name: string, listener: () => void) => void listeners.set(name, listener) }
  const seen: string[] = []
  let now = 0
  onStopSignals(
    {
      names: ['SIGINT', 'SIGTERM'],
      onFirst: name => seen.push(`first ${name}`),
      onRepeat: name => seen.push(`again ${name}`),
      nowMs: () => now,
    },
    source as never,
  )
  for (const [atMs, name] of [
    [0, 'SIGINT'],
    [1, 'SIGINT'],
    [1000, 'SIGTERM'],
    [1001, 'SIGINT'],
    [1002, 'SIGTERM'],
  ] as const) {
    now = atMs
    listeners.get(name)?.()
  }
  t.strictSame(seen, ['first SIGINT', 'again SIGINT', 'again SIGTERM'])
})

/** Waits for a line of the child's output. */
const waitForLine = async (child: ChildProcess, pattern: RegExp): Promise<void> => {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream }))
    if (pattern.test(line)) return
}

const startProgram = (t: Test, command: string, args: string[]): ChildProcess => {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME }
  // no terminal anywhere: nobody but the launcher hears of a signal
  const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']
  const child = spawn(command, args, { cwd: root, env, stdio, detached: true })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('a program that restarts itself under another Node', async t => {
  const script = join(t.testdir(), 'program.mjs')
  writeFileSync(
    script,
    `import { again } from ${JSON.stringify(join(root, 'bin', 'launch.mjs'))}
    if (process.env.SHOAL_STAND_IN) {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
        process.on(name, () => { console.log(name); process.exit(7) })
      console.log('up')
      setInterval(() => {}, 1000)
    } else again(process.execPath)`,
  )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    t.test(`receives ${signal}, and its exit code is passed on`, async t => {
      const child = startProgram(t, process.execPath, [script])
      await waitForLine(child, /^up$/)
      child.kill(signal)
      const [code] = await once(child, 'exit')
      t.equal(code, 7)
    })
})

t.test('SIGINT to npm or to the launcher alone stops all processes', async t => {
  for (const [title, command, args] of [
    ['npm', 'npm', ['start', '--silent', '--']],
    ['the launcher', process.execPath, [join(root, 'bin', 'up.mjs')]],
  ] as const)
    t.test(title, async t => {
      const flags = ['--port', '0', '--mqtt-port', 'none', '--state-dir', t.testdir()]
      const child = startProgram(t, command, [...args, ...flags])
      await waitForLine(child, /starting the coordinator/)
      child.kill('SIGINT')
      // its output ends when the last process that has it has ended
      await once(child, 'close')
      t.equal(child.exitCode, 0)
    })
})

t.test('the error for an unavailable port names the flag of npm start', async t => {
  const foreign = createServer()
  foreign.listen(0, '127.0.0.1')
  await once(foreign, 'listening')
  t.teardown(() => foreign.close())
  const { port } = foreign.address() as AddressInfo
  for (const [ports, message] of [
    [
      { port, mqttPort: 0 },
      `port ${port} on 127.0.0.1 is in use; choose another: npm start -- --port `,
    ],
    [
      { port: 0, mqttPort: port },
      `port ${port} on 127.0.0.1 is in use; choose another: npm start -- --mqtt-port `,
    ],
  ] as const)
    await t.rejects(checkPorts({ ...ports, lan: undefined }), {
      exitCode: 69,
      message: new RegExp(`^${message}`),
    })
  await checkPorts({ port: 0, mqttPort: undefined, lan: undefined })
})
