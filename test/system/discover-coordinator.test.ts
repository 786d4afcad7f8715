import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { NetworkLab, namespacesMissing, waitForLine } from '../support/network-lab.ts'

const bin = (name: string): string => resolve(import.meta.dirname, `../../bin/${name}.mjs`)

t.test('a machine finds its coordinator', { skip: namespacesMissing }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-discover-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  await using lab = new NetworkLab()
  for (const [at, name] of ['hub', 'stranger', 'cell'].entries())
    lab.addHost(name, `10.9.0.${at + 2}/24`)

  /** Starts a coordinator on a machine and makes a join token. */
  const startCoordinator = async (host: string): Promise<string> => {
    const file = join(folder, `${host}.yaml`)
    const state_dir = join(folder, host)
    writeFileSync(file, JSON.stringify({ name: host, state_dir, http: { host: '0.0.0.0' } }))
    const program = [bin('shoal-coordinator'), '--config', file]
    const child = lab.start(host, process.execPath, program)
    await waitForLine(child, /announced by mDNS/)
    child.stdout?.resume()
    const made = await lab.run(host, process.execPath, [
      ...program,
      '--format',
      'json',
      'token',
      'create',
    ])
    return (JSON.parse(made) as { secret: string }).secret
  }

  const runJoin = async (name: string, token: string, ...flags: string[]) => {
    const state = join(folder, name)
    const tokenFile = join(folder, `${name}.token`)
    writeFileSync(tokenFile, token)
    const args = ['join', '--discover', ...flags, '--token-file', tokenFile, '--state-dir', state]
    const output = await lab.run('cell', 'sh', [
      '-c',
      '"$@" 2>&1; echo "exit $?"',
      'sh',
      process.execPath,
      bin('shoald'),
      ...args,
    ])
    return { output, state }
  }

  const token = await startCoordinator('hub')
  await startCoordinator('stranger')

  await t.test('the list names each one, and no answer is no', async t => {
    const { output } = await runJoin('unsure', token)
    t.match(output, /^hub {2}https:\/\/10\.9\.0\.2:7070 {2}key [\w-]{43}$/m)
    t.match(output, /^stranger {2}https:\/\/10\.9\.0\.3:7070 {2}key [\w-]{43}$/m)
    t.match(output, /not joined: confirm the coordinator, or add --yes/)
    t.match(output, /exit 64/)
  })

  await t.test('it joins the one that made the token', async t => {
    const { output, state } = await runJoin('sure', token, '--yes')
    t.match(output, /This machine is \S+ of https:\/\/10\.9\.0\.2:7070 now/)
    t.match(output, /certificate authority is pinned/)
    t.match(readFileSync(join(state, 'shoald.yaml'), 'utf8'), 'https://10.9.0.2:7070')
  })

  await t.test('it joins none for the token of another fleet', async t => {
    const [secret] = token.split('.')
    const { output } = await runJoin('foreign', `${secret}.${'A'.repeat(43)}`, '--yes')
    t.match(output, /none of these coordinators made this token/)
  })

  await t.test('a token without a fingerprint is not taken on the word of the network', async t => {
    const [secret = ''] = token.split('.')
    const { output } = await runJoin('bare', secret, '--yes')
    t.match(output, /--discover needs a token with a fingerprint/)
  })
})
