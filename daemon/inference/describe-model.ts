import { ShoalError } from '../../shared/errors.ts'
import { MAX_TEMPLATE_CHARACTERS, type ModelFacts } from '../../shared/wire/model-facts.ts'
import type { Engine } from './engine.ts'
import { checkGguf, type GgufFacts } from './gguf.ts'
import { quantizationOf } from './quantization.ts'
import { callShapeOf } from './tool-syntax.ts'

/** @throws ShoalError conflict while the weights are not on the disk or cannot be read */
export const describeModel = async ({
  weights,
  kind,
}: Pick<Engine, 'weights' | 'kind'>): Promise<ModelFacts> => {
  const facts = await readFacts(weights.file, weights.label)
  return {
    kind,
    weights: weights.label.slice(0, 1024),
    file_bytes: facts.fileBytes,
    architecture: facts.architecture,
    quantization: quantizationOf(facts.fileType),
    parameters: facts.parameterCount,
    name: shorten(facts.name),
    licence: shorten(facts.licence),
    licence_url: shorten(facts.licenceUrl),
    context_length: facts.contextLength,
    layers: facts.blockCount,
    embedding_length: facts.embeddingLength,
    vocabulary: facts.vocabularySize,
    tool_format: callShapeOf(facts.chatTemplate ?? '') ?? null,
    chat_template: facts.chatTemplate?.slice(0, MAX_TEMPLATE_CHARACTERS) ?? null,
  }
}

const readFacts = async (file: string, label: string): Promise<GgufFacts> => {
  try {
    return await checkGguf(file)
  } catch (cause) {
    const isAbsent = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const reason = isAbsent ? 'the weights are not on the disk' : (cause as Error).message
    throw new ShoalError('conflict', `${label}: ${reason}`, { cause })
  }
}

const MAX_TEXT_CHARACTERS = 256

const shorten = (text: string | undefined): string | null =>
  text?.slice(0, MAX_TEXT_CHARACTERS) ?? null
