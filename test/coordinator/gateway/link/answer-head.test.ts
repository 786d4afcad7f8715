import t from 'tap'
import { readAnswerHead } from '../../../../coordinator/gateway/link/answer-head.ts'
import { buildHuffmanCodes, decodeHuffman } from '../../../../coordinator/gateway/link/huffman.ts'
import { field, OK } from './raw-cell.ts'

const read = (hex: string) => {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
  const { status, headers } = readAnswerHead(bytes, 0, bytes.length)
  return { status, headers: { ...headers } }
}

const text = (hex: string): string => {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
  return decodeHuffman(bytes, 0, bytes.length)
}

/** Encodes bytes with the Huffman code, padded with bits of the end of the string. */
const huffman = (bytes: Buffer): Buffer => {
  const codes = buildHuffmanCodes()
  let bits = ''
  for (const byte of bytes) {
    const { code, bits: length } = codes[byte] ?? { code: 0, bits: 0 }
    bits += code.toString(2).padStart(length, '0')
  }
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')
  return Buffer.from(whole.match(/.{8}/g)?.map(byte => Number.parseInt(byte, 2)) ?? [])
}

t.test('the decoder handles the examples of RFC 7541, appendix C', async t => {
  t.test('fields', async t => {
    const custom = '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572'
    t.match(read(custom), { headers: { 'custom-key': 'custom-header' } }, 'C.2.1')
    t.match(read('1008 7061 7373 776f 7264 0673 6563 7265 74'), { headers: { password: 'secret' } })
  })
  const first = {
    status: 302,
    headers: {
      'cache-control': 'private',
      date: 'Mon, 21 Oct 2013 20:13:21 GMT',
      location: 'https://www.example.com',
    },
  }
  t.test('an uncoded answer head, C.5.1', async t => {
    const hex = `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
      2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63
      6f6d`
    t.strictSame(read(hex.replaceAll('\n', '')), first)
  })
  t.test('a Huffman-coded answer head, C.6.1', async t => {
    const hex = `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b
      ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`
    t.strictSame(read(hex.replaceAll('\n', '')), first)
  })
  t.test('Huffman-coded texts, C.4', async t => {
    t.equal(text('f1e3 c2e5 f23a 6ba0 ab90 f4ff'), 'www.example.com')
    t.equal(text('a8eb 1064 9cbf'), 'no-cache')
    t.equal(text('25a8 49e9 5ba9 7d7f'), 'custom-key')
    t.equal(text('25a8 49e9 5bb8 e8b4 bf'), 'custom-value')
  })
})

t.test('the Huffman code', async t => {
  t.test('is complete and has a code for each byte', async t => {
    const codes = buildHuffmanCodes()
    t.equal(codes.length, 257)
    t.equal(
      codes.reduce((sum, { bits }) => sum + 2 ** -bits, 0),
      1,
    )
    t.strictSame(codes[256], { code: 0x3fffffff, bits: 30 }, 'the end')
  })
  t.test('decodes every byte, alone and among others', async t => {
    const single = Array.from({ length: 256 }, (_, byte) => byte)
    const texts = single
      .flatMap(byte => [[byte], [byte, byte, byte], [0x61, byte, 0x7a, byte, 0x20]])
      .map(bytes => Buffer.from(bytes))
    t.strictSame(
      texts.map(bytes => text(huffman(bytes).toString('hex'))),
      texts.map(bytes => bytes.toString('latin1')),
    )
    const all = Buffer.from(single)
    t.equal(text(huffman(all).toString('hex')), all.toString('latin1'))
  })
  t.test('ends with less than a byte of ones', async t => {
    t.equal(text(''), '')
    t.equal(text('1f'), 'a')
    for (const wrong of ['18', '1fff', 'ff', 'ffffffff', 'fffffffc'])
      t.throws(() => text(wrong), { code: 9 }, wrong)
  })
})

t.test('a head is decoded', async t => {
  t.strictSame(read(OK), { status: 200, headers: {} })
  t.strictSame(read('8d'), { status: 404, headers: {} })
  t.strictSame(read(`20${OK}`), { status: 200, headers: {} }, 'after an empty table')
  t.strictSame(read(OK + field('a', 'b') + field('a', 'c')).headers, { a: 'b, c' })
  t.strictSame(Object.entries(read(OK + field('__proto__', 'x')).headers), [['__proto__', 'x']])
  t.strictSame(read(OK + field('a', 'ä\t ~')).headers, { a: 'ä\t ~' })
  const long = 'x'.repeat(300)
  const block = Buffer.concat([
    Buffer.from([0, 1, 0x61, 0x7f, 0x80 | ((300 - 127) & 0x7f), (300 - 127) >> 7]),
    Buffer.from(long),
  ])
  t.strictSame(read(block.toString('hex')).headers, { a: long }, 'with a number of three bytes')
})

t.test('a block that cannot be decoded ends the session', async t => {
  for (const [hex, why] of [
    ['80', 'index 0'],
    ['be', 'an index outside the table'],
    ['7e00', 'a name at such an index'],
    ['3fe11f', 'a dynamic table of 4096 bytes'],
    [`${OK}20`, 'a table update in the middle'],
    ['00', 'no name'],
    ['000161', 'no value'],
    ['0001610562', 'a value that ends too early'],
    ['000161ff', 'a length that ends too early'],
    ['000161ffffffffffff7f', 'a length that is too large'],
    ['00016181ff', 'an invalid Huffman code'],
  ] as const)
    t.throws(() => read(hex), { name: 'SessionFault', code: 9 }, why)
})

t.test('a malformed head ends its stream only', async t => {
  const many = '90'.repeat(1100)
  for (const [hex, why] of [
    [field(':status', '20'), 'a status of two digits'],
    [field(':status', '099'), 'an invalid status'],
    [OK + OK, 'two of them'],
    [field('a', 'b') + OK, 'one after a header'],
    [OK + field(':path', '/'), 'a pseudo-header of requests'],
    [OK + field(':x', '/'), 'an unknown pseudo-header'],
    [OK + field('', 'x'), 'no name'],
    [OK + field('Upper', 'x'), 'upper case'],
    [OK + field('a b', 'x'), 'a space in a name'],
    [OK + field('a', 'b\r\nc: d'), 'a line end'],
    [OK + field('a', 'b\0'), 'a zero'],
    [OK + field('a', 'b\x7f'), 'a control character'],
    [OK + field('connection', 'close'), 'a connection-specific header'],
    [OK + field('transfer-encoding', 'chunked'), 'a header of HTTP/1.1'],
    [OK + many, 'a small block that is a long list'],
  ] as const)
    t.throws(() => read(hex), { name: 'Malformed' }, why)
})

t.test('the cache of heads is bounded and returns what was decoded', async t => {
  const numbers = Array.from({ length: 1800 }, (_, i) => `${i % 600}`)
  t.strictSame(
    numbers.map(n => read(OK + field('n', n)).headers.n),
    numbers,
  )
})
