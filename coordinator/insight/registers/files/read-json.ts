import { type FileEntry, MAX_RECORD_CHARS } from './file-format.ts'

/**
 * Records of a JSON file: an array of objects, or one object after another, such as JSON Lines.
 * Objects are cut out of the text and parsed one by one, so that the size of the file does not matter.
 */
export async function* readJson(text: AsyncIterable<string>): AsyncGenerator<FileEntry> {
  const scanner = new ObjectScanner()
  for await (const piece of text) {
    yield* scanner.scan(piece)
    if (scanner.hasFailed) return
  }
  if (scanner.isOpen) yield { line: scanner.startLine, fault: 'the file ends inside the record' }
}

class ObjectScanner {
  #line = 1
  #depth = 0
  #isText = false
  #isEscaped = false
  #object = ''
  startLine = 1
  hasFailed = false

  get isOpen(): boolean {
    return this.#depth > 0
  }

  *scan(piece: string): Generator<FileEntry> {
    for (const char of piece) {
      if (char === '\n') this.#line++
      const entry = this.isOpen ? this.#addToObject(char) : this.#startObject(char)
      if (entry !== undefined) yield entry
      if (this.hasFailed) return
    }
  }

  #startObject(char: string): FileEntry | undefined {
    if (char === '{') {
      this.startLine = this.#line
      this.#object = char
      this.#depth = 1
    } else if (!/[\s,[\]]/.test(char))
      return this.#fail(this.#line, 'the file must be an array of objects, or JSON Lines')
    return undefined
  }

  #addToObject(char: string): FileEntry | undefined {
    this.#object += char
    if (this.#object.length > MAX_RECORD_CHARS)
      return this.#fail(this.startLine, 'the record is too long')
    if (this.#isText) this.#addToText(char)
    else if (char === '"') this.#isText = true
    else if (char === '{' || char === '[') this.#depth++
    else if (char === '}' || char === ']') this.#depth--
    return this.isOpen ? undefined : parseObject(this.#object, this.startLine)
  }

  #addToText(char: string): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (char === '\\') this.#isEscaped = true
    else if (char === '"') this.#isText = false
  }

  #fail(line: number, fault: string): FileEntry {
    this.hasFailed = true
    return { line, fault }
  }
}

const parseObject = (text: string, line: number): FileEntry => {
  try {
    return { line, value: JSON.parse(text) }
  } catch {
    return { line, fault: 'the record is not valid JSON' }
  }
}
