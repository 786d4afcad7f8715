import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createPrinterStatusQuestion } from '../../../daemon/devices/questions/printer-status.ts'
import type { LinkContext } from '../../../devices/device-link.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { PrinterStatusAnswer } from '../../../shared/wire/printer-status.ts'
import { createLinkContext, createQuestionContext } from '../../support/link-context.ts'
import { FULL_STATUS, startPrinter } from '../../support/stand-in-printer.ts'
import { waitUntil } from '../../support/wait-until.ts'

const printer = await startPrinter()
t.teardown(() => printer.stop())
const INPUT = { ip: '127.0.0.1', serial: printer.serial, access_code: '31415926' }

const askOnce = async (
  question: ReturnType<typeof createPrinterStatusQuestion>,
  input: object,
  context: LinkContext,
) => {
  const { signal } = new AbortController()
  const items: unknown[] = []
  for await (const event of question.ask(
    input as never,
    createQuestionContext(context, { signal }),
  ))
    if (event.type === 'item') items.push(event.value)
  return PrinterStatusAnswer.parse(items[0])
}

t.test(
  'a question reads one full status, closes the connection, and is not asked twice',
  async t => {
    const question = createPrinterStatusQuestion(printer.port)
    const context = createLinkContext(t)
    const answer = await askOnce(question, INPUT, context)
    t.match(answer, {
      available: true,
      writable: true,
      reason: null,
      state: 'running',
      job: 'bracket',
      progress_percent: 12,
      nozzle_celsius: 219.5,
      light_on: true,
      certificate_fingerprint: printer.fingerprint,
      certificate_pinned: false,
    })
    await waitUntil('the connection is closed', () => printer.sockets.size === 0)
    t.strictSame(await askOnce(question, INPUT, context), answer)
    t.equal(printer.logins.length, 1)
  },
)

t.test('a printer that is locked is not writable, with the reason', async t => {
  printer.state.status = { ...FULL_STATUS, fun: '20000000' }
  const answer = await askOnce(
    createPrinterStatusQuestion(printer.port),
    INPUT,
    createLinkContext(t),
  )
  t.match(answer, { available: true, writable: false, reason: /developer mode/ })
})

t.test('a wrong access code and another certificate are answers with a reason', async t => {
  const question = createPrinterStatusQuestion(printer.port)
  const context = createLinkContext(t)
  const wrong = await askOnce(question, { ...INPUT, access_code: '00000000' }, context)
  t.match(wrong, {
    available: false,
    writable: null,
    state: null,
    reason: 'the printer refuses the access code',
  })
  const logins = printer.logins.length
  const pin = join(context.stateDir, 'bambu-pins', `${printer.serial}.sha256`)
  t.equal(readFileSync(pin, 'utf8').trim(), printer.fingerprint, 'the first use has pinned it')
  writeFileSync(pin, `${'0'.repeat(64)}\n`)
  const other = await askOnce(question, INPUT, context)
  t.match(other, { available: false, reason: /another certificate/, certificate_pinned: false })
  t.equal(printer.logins.length, logins, 'the access code is not sent to it')
  writeFileSync(pin, `${printer.fingerprint}\n`)
  t.match(await askOnce(question, INPUT, context), { available: true, certificate_pinned: true })
})

t.test('a peer whose certificate does not name the printer gets no access code', async t => {
  const question = createPrinterStatusQuestion(printer.port)
  const context = createLinkContext(t)
  const logins = printer.logins.length
  const input = { ...INPUT, serial: '01P00A000000002' }
  const answer = await askOnce(question, input, context)
  t.match(answer, {
    available: false,
    certificate_pinned: false,
    reason: /names 01P00A000000001 and not the serial number 01P00A000000002/,
  })
  t.equal(printer.logins.length, logins)
  t.notOk(existsSync(join(context.stateDir, 'bambu-pins')), 'nothing is pinned')
})

t.test('a printer that takes the place of a pinned one gets no access code', async t => {
  const context = createLinkContext(t)
  await askOnce(createPrinterStatusQuestion(printer.port), INPUT, context)
  const other = await startPrinter()
  t.teardown(() => other.stop())
  const answer = await askOnce(createPrinterStatusQuestion(other.port), INPUT, context)
  t.match(answer, { available: false, reason: /another certificate .*bambu-pins/ })
  t.strictSame(other.logins, [])
})

t.test('an address outside the scope is refused', async t => {
  const refuse = async () => {
    throw new ShoalError('scope_denied', '127.0.0.1 is not in devices.scope')
  }
  const context = createLinkContext(t, { resolveHost: refuse })
  await t.rejects(askOnce(createPrinterStatusQuestion(printer.port), INPUT, context), {
    code: 'scope_denied',
  })
})
