import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSecret } from '../../../daemon/devices/read-secret.ts'
import { createHostResolver } from '../../../daemon/devices/resolve-host.ts'

const NAMES: Record<string, string[]> = {
  'broker.example': ['192.0.2.7'],
  'split.example': ['192.0.2.7', '198.51.100.1'],
  'meta.example': ['169.254.169.254'],
  'cloud.example': ['192.0.2.7', 'fd00:ec2::254'],
  'mapped.example': ['::ffff:192.0.2.7'],
}
const lookUp = async (host: string) => {
  const addresses = NAMES[host] ?? [host]
  if (addresses[0]?.endsWith('.invalid')) throw new Error('ENOTFOUND')
  return addresses.map(address => ({ address }))
}

t.test('only loopback addresses and those in the scope are resolved', async t => {
  for (const [host, scope, found] of [
    ['127.0.0.1', [], '127.0.0.1'],
    ['::1', [], '::1'],
    ['192.0.2.7', [], undefined],
    ['192.0.2.7', ['192.0.2.0/24'], '192.0.2.7'],
    ['broker.example', ['192.0.2.0/24'], '192.0.2.7'],
    ['broker.example', ['broker.example'], '192.0.2.7'],
    ['Broker.Example', ['broker.example'], '192.0.2.7'],
    ['broker.example', ['broker.example:8883'], '192.0.2.7'],
    ['broker.example', ['broker.example:1883'], undefined],
    ['split.example', ['192.0.2.0/24'], undefined],
    ['split.example', ['192.0.2.0/24', '198.51.100.1'], '192.0.2.7'],
    ['mapped.example', ['192.0.2.0/24'], '192.0.2.7'],
    ['0.0.0.0', [], undefined],
    ['169.254.169.254', ['169.254.0.0/16', '169.254.169.254'], undefined],
    ['meta.example', ['meta.example'], undefined],
    ['cloud.example', ['cloud.example', '0.0.0.0/0', '::/0'], undefined],
    ['::ffff:169.254.169.254', ['::/0', '0.0.0.0/0'], undefined],
  ] as [string, string[], string | undefined][]) {
    const resolve = createHostResolver(scope, lookUp)
    const title = `${host} in ${JSON.stringify(scope)}`
    if (found === undefined) await t.rejects(resolve(host, 8883), { code: 'scope_denied' }, title)
    else t.equal(await resolve(host, 8883), found, title)
  }
  const lost = createHostResolver([], lookUp)('printer.invalid', 80)
  await t.rejects(lost, { code: 'conflict', message: /has no address/ })
})

t.test('a secret is the line of its file', async t => {
  const file = join(t.testdir(), 'code')
  writeFileSync(file, 'hunter2 \n')
  t.equal(await readSecret(file), 'hunter2 ')
  writeFileSync(file, '\n')
  await t.rejects(readSecret(file), { code: 'config_invalid', message: /must hold one line/ })
  await t.rejects(readSecret(`${file}.missing`), { code: 'config_invalid', message: /ENOENT/ })
})
