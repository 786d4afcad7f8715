import t from 'tap'
import { parseAllowed } from '../../../shared/outbound/allow-list.ts'
import { type JudgeRules, judgeAddress, judgeUrl } from '../../../shared/outbound/judge.ts'
import { REFUSED_ADDRESSES } from '../../support/refused-addresses.ts'

const strict: JudgeRules = { allowed: [], allowHttp: false }

t.ok(REFUSED_ADDRESSES.length >= 40)
for (const [what, url] of REFUSED_ADDRESSES)
  t.test(`${what} is refused: ${JSON.stringify(url.slice(0, 60))}`, async t => {
    t.throws(() => judgeUrl(url, strict), { code: 'invalid_request', param: 'url' })
  })

const PASSED = [
  'https://hooks.acme-corp.com/',
  'https://HOOKS.acme-corp.com/Path?q=1',
  'https://hooks.acme-corp.com:8443/x',
  'https://8.8.8.8/',
  'https://[2606:4700::1111]/',
  'https://xn--bcher-kva.com/',
  'https://_x.acme-corp.com/',
]
for (const url of PASSED)
  t.test(`${url} passes`, async t => {
    t.match(judgeUrl(url, strict), { trusted: false })
  })

const createRules = (texts: string[], allowHttp = false): JudgeRules => ({
  allowed: texts.flatMap(text => parseAllowed(text) ?? []),
  allowHttp,
})

t.test('an address on the allow list passes with its port and nothing beside it', async t => {
  const rules = createRules(['hooks.lan:443', '10.1.0.0/16:8443', '[fd00:1::]:443', '127.0.0.1:80'])
  t.equal(rules.allowed.length, 4)
  for (const [url, passes] of [
    ['https://hooks.lan/', true],
    ['https://hooks.lan:444/', false],
    ['https://other.lan/', false],
    ['https://10.1.2.3:8443/', true],
    ['https://10.1.2.3/', false],
    ['https://10.2.2.3:8443/', false],
    ['https://[fd00:1::]/', true],
    ['https://[fd00:1::1]/', false],
    ['https://[::ffff:10.1.2.3]:8443/', false],
    ['http://127.0.0.1/', false],
    ['https://2130706433:80/', false],
  ] as const)
    if (passes) t.match(judgeUrl(url, rules), { trusted: true }, url)
    else t.throws(() => judgeUrl(url, rules), { code: 'invalid_request' }, url)
})

t.test('plain HTTP passes only where both it and the target are allowed', async t => {
  const rules = createRules(['hooks.lan:80', '127.0.0.1:8080'], true)
  for (const url of ['http://hooks.lan/', 'http://127.0.0.1:8080/'])
    t.match(judgeUrl(url, rules), { trusted: true })
  for (const url of ['http://hooks.acme-corp.com/', 'http://hooks.lan:81/', 'http://8.8.8.8/'])
    t.throws(() => judgeUrl(url, rules), { code: 'invalid_request' }, url)
})

t.test('cloud metadata addresses are refused whatever is allowed', async t => {
  const rules = createRules(['0.0.0.0/0:443', '[::/0]:443'])
  for (const address of [
    ...['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254', 'fe80::1'],
    ...['168.63.129.16', '192.0.0.192', 'fd00:ec2::23', 'fd00:c1::a9fe:a9fe', 'fd00:42::42'],
    '64:ff9b::a83f:8110',
    // compatible, mapped, translated, 6to4
    ...['::169.254.169.254', '::ffff:169.254.169.254', '::ffff:0:a9fe:a9fe', '2002:a9fe:a9fe::1'],
    // NAT64, with the well-known prefix and with local ones of 48, 56, 64 and 96 bits
    ...['64:ff9b::a9fe:a9fe', '64:ff9b::6464:64c8', '64:ff9b:1:a9fe:a9:fe00::'],
    ...['64:ff9b:1:a9:fe:a9fe::', '64:ff9b:1::a9:fea9:fe00:0', '64:ff9b:1::a9fe:a9fe'],
  ])
    t.throws(() => judgeAddress(address, 443, rules, true), /metadata/, address)
  for (const address of ['64:ff9b::a00:1', '64:ff9b:1::a00:1', '::ffff:10.0.0.1'])
    t.doesNotThrow(() => judgeAddress(address, 443, rules, true), address)
  for (const address of ['169.254.169.254', '168.63.129.16'])
    t.throws(() => judgeUrl(`https://${address}/`, rules), /metadata/)
  t.doesNotThrow(() => judgeAddress('10.0.0.1', 443, rules))
})

t.test('addresses of this machine are refused in every notation', async t => {
  const rules: JudgeRules = { ...strict, ownAddresses: () => ['203.0.114.7', '2606:4700:0::1'] }
  t.throws(() => judgeAddress('203.0.114.7', 443, rules), /this machine/)
  t.throws(() => judgeAddress('2606:4700::1', 443, rules), /this machine/)
  t.doesNotThrow(() => judgeAddress('203.0.114.8', 443, rules))
})

t.test('an entry of the allow list is a host or range with a port', async t => {
  for (const text of ['hooks.lan', '10.0.0.0/8', 'a:0', 'a:65536', '10.0.0.0/40:1', '127.1:80', ''])
    t.equal(parseAllowed(text), undefined, text)
  for (const text of ['[10.0.0.1]:80', '2130706433:80', '*:443', 'a b:1', '[::1:80', 'x.0x7f:1'])
    t.equal(parseAllowed(text), undefined, text)
})
