"""Checks in the training environment, with a tiny random model. Run by test_inside.py; prints one object of JSON.

    launch with the training environment's Python: inside.py FOLDER WEIGHTS
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
sys.path += os.environ["JITRL_TRAIN_PATH"].split(os.pathsep)
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1"}

import gguf  # noqa: E402
import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from peft import get_peft_model  # noqa: E402
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, set_seed  # noqa: E402
from trl import SFTTrainer  # noqa: E402

from engine.errors import ModelError  # noqa: E402
from engine.llm.local.trie import choices  # noqa: E402
from engine.llm.local.weights import fingerprint  # noqa: E402
from engine.llm.prompts import tail  # noqa: E402
from engine.llm.questions import TEXT_ASKING  # noqa: E402
from engine.records import ActionRequest  # noqa: E402
from engine.settings.train import GrpoSettings, SftSettings  # noqa: E402
from engine.train import export, grpo, models, run_sft  # noqa: E402
from engine.train.monitor import Following  # noqa: E402
from engine.train.policy import TriePolicy  # noqa: E402
from engine.train.prompts import Prompts  # noqa: E402
from engine.train.rollouts import PlayedEpisode  # noqa: E402
from engine.train.sources import find  # noqa: E402
from engine.train.trained import TrainingRow  # noqa: E402

ACTIONS = ("go east", "go west", "take the brass key", "take the brass lamp")
torch.set_num_threads(1)


def make(folder: Path, weights: Path) -> tuple[object, object]:
    """Write a tiny random model of SmolLM2's architecture as a folder; return it and its tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)
    set_seed(7)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=96, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024, tie_word_embeddings=True,
            bos_token_id=1, eos_token_id=2, pad_token_id=2, initializer_range=0.2, rope_theta=100000.0,
            rms_norm_eps=1e-5,
        )
    ).float()  # fmt: skip
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def prompts_of(tokenizer: object) -> Prompts:
    return Prompts(tokenizer, TEXT_ASKING, "actions_brief", 512)


def request(text: str) -> ActionRequest:
    return ActionRequest("", "", "", text, ACTIONS, len(ACTIONS))


def plainly(model: object, prompt: list[int], answers: list[list[int]]) -> list[list[float]]:
    """Return what `TriePolicy.score` should, with a whole pass for each answer and no cache."""
    found = []
    for answer, allowed in zip(answers, choices(answers), strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1].float()
        found.append(
            [
                float(torch.log_softmax(logits[i][list(tokens)], -1)[tokens.index(token)])
                for i, (token, tokens) in enumerate(zip(answer, allowed, strict=True))
            ]
        )
    return found


def check_policy(model: object, tokenizer: object) -> dict[str, object]:
    prompts, policy, worst, total = prompts_of(tokenizer), TriePolicy(model), 0.0, []
    for text in ("Hall. A long hall.", "Hall. A long hall. It is dark.", "Cellar, with \"quotes\" and  spaces"):
        made = prompts.of(request(text))
        ids, answers = prompts.tokens(made), prompts.tails(made, ACTIONS)
        scores = policy.score(ids, answers)
        expected = plainly(model, ids, answers)
        pairs = [pair for x, y in zip(scores, expected, strict=True) for pair in zip(x, y, strict=True)]
        worst = max(worst, *(abs(one - other) for one, other in pairs))
        total.append(sum(float(torch.tensor(sum(values)).exp()) for values in scores))
    return {"worst": worst, "total": total}


def played(prompts: Prompts, policy: TriePolicy, action: str, reward: float, number: int) -> PlayedEpisode:
    """Return an episode of one decision."""
    made = prompts.of(request("Hall. A long hall."))
    ids, answers = prompts.tokens(made), prompts.tails(made, ACTIONS)
    at = ACTIONS.index(action)
    row = TrainingRow(tuple(ids), tuple(answers[at]), choices(answers)[at], tuple(policy.score(ids, answers)[at]))
    return PlayedEpisode("hall", number, reward, (reward,), (reward,), (row,))


def likelihoods(model: object, tokenizer: object) -> dict[str, float]:
    prompts = prompts_of(tokenizer)
    made = prompts.of(request("Hall. A long hall."))
    ids, answers = prompts.tokens(made), prompts.tails(made, ACTIONS)
    scores = TriePolicy(model).score(ids, answers)
    return {action: sum(values) for action, values in zip(ACTIONS, scores, strict=True)}


def check_grpo(folder: Path, work: Path) -> dict[str, object]:
    """One update of two groups: "take the brass key" was rewarded more than "go west". Episodes may have two steps."""
    settings = GrpoSettings(
        group=2, batch=2, updates=1, learning_rate=1e-3, micro_batch=4, kl=0.01, lora_rank=4, activations="recompute"
    )
    tokenizer = models.open_tokenizer(folder)
    set_seed(1)
    prompts, policy = prompts_of(tokenizer), TriePolicy(None)
    seen: dict[str, object] = {}

    def play(names: list[str]) -> list[PlayedEpisode]:
        assert names == ["hall"] * 4
        outbox = [("take the brass key", 1.0), ("go west", 0.0), ("take the brass key", 5.0), ("go west", 4.0)]
        return [played(prompts, policy, action, reward, number) for number, (action, reward) in enumerate(outbox, 1)]

    class Watched(grpo.EpisodeTrainer):
        def _compute_loss(self, model, inputs):
            ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
            mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
            new, _, _ = self._get_per_token_logps_and_entropies(
                model, ids, mask, inputs["completion_ids"].size(1), compute_entropy=True
            )
            differences, forced = [], []
            for one, seen_ids, there, tool in zip(new, ids, mask, inputs["tool_mask"], strict=True):
                row = self._allowed[tuple(seen_ids[there.bool()].tolist())]
                differences += [abs(float(a) - b) for a, b in zip(one, row.logprobs, strict=False)]
                for value, tokens, kept in zip(one, row.allowed, tool, strict=False):
                    assert int(kept) == (len(tokens) > 1)
                    forced += [float(value)] if len(tokens) == 1 else []
            seen.setdefault("first_pass", max(differences))
            seen["forced"] = sorted(set(forced))
            advantages = {round(float(a), 3) for a in inputs["advantages"]}
            seen["advantages"] = sorted(advantages.union(seen.get("advantages", ())))
            return super()._compute_loss(model, inputs)

    trainer = Watched(
        model=models.open_weights(folder, settings),
        args=grpo.config(settings, work, 2, 1, 1, cpu=True),
        train_dataset=grpo.tasks(["hall"], 2),
        processing_class=tokenizer,
        peft_config=models.adapter(settings),
        play=play,
        steps=2,
        value=lambda one: one.score,
    )  # fmt: skip
    policy.use(trainer.model)
    before = likelihoods(trainer.model, tokenizer)
    told: list[dict[str, float]] = []
    trainer.add_callback(Following(lambda step, logs: told.append(dict(logs)), lambda: False, 0.0))
    trainer.train()
    after = likelihoods(trainer.model, tokenizer)
    return {**seen, "rows": len(trainer._allowed), "before": before, "after": after, "kl": told[0]["kl"]}


def check_sft(folder: Path, work: Path) -> dict[str, object]:
    """One update on "go west" in the hall."""
    settings = SftSettings(learning_rate=1e-3, sft_batch=1, epochs=1.0, lora_rank=4)
    tokenizer = models.open_tokenizer(folder)
    prompts = prompts_of(tokenizer)
    made = prompts.of(request("Hall. A long hall."))
    rows = [{"prompt": prompts.text(made), "completion": tail(made.answer, "go west")}]
    set_seed(1)
    trainer = SFTTrainer(
        model=models.open_weights(folder, settings), args=run_sft.config(settings, work, 1, cpu=True),
        train_dataset=Dataset.from_list(rows), processing_class=tokenizer, peft_config=models.adapter(settings),
    )  # fmt: skip
    labels = next(iter(trainer.get_train_dataloader()))["labels"][0]
    before = likelihoods(trainer.model, tokenizer)
    trainer.train()
    return {
        "learnt": tokenizer.decode(labels[labels >= 0]),
        "before": before,
        "after": likelihoods(trainer.model, tokenizer),
    }


def check_nan(folder: Path, work: Path) -> str:
    """Train a model with a number that is none; return the sentence that ends it."""
    settings = SftSettings(sft_batch=1, epochs=1.0, lora_rank=0)
    tokenizer = models.open_tokenizer(folder)
    model = models.open_weights(folder, settings)
    model.model.layers[0].mlp.up_proj.weight.data[0, 0] = float("nan")
    rows = [{"prompt": "Hall.", "completion": " go west\n"}]
    trainer = SFTTrainer(
        model=model, args=run_sft.config(settings, work, 1, cpu=True), train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.add_callback(Following(lambda step, logs: None, lambda: False, 0.0))
    try:
        trainer.train()
    except ModelError as error:
        saved = [path.name for path in work.rglob("checkpoint-*")]
        return f"{error} {saved}"
    return ""


def original(weights: Path, model: object, target: Path) -> None:
    """Write the tiny model as a model file like that of SmolLM2."""
    sizes = {
        "llama.block_count": 2, "llama.embedding_length": 64, "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2, "llama.rope.dimension_count": 16,
        "llama.context_length": 1024, "general.file_type": 0,
    }  # fmt: skip
    reader = gguf.GGUFReader(str(weights))
    writer = gguf.GGUFWriter(str(target), "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            array = field.types[0] == gguf.GGUFValueType.ARRAY
            value = sizes.get(field.name, field.contents())
            writer.add_key_value(field.name, value, field.types[0], field.types[-1] if array else None)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        data = tensor.numpy()
        heads = 4 if "q_proj" in name else 2 if "k_proj" in name else 0
        if heads:  # rows of a head: first all even ones of the file's order, then all odd ones
            order = [h * 16 + half * 8 + i for h in range(heads) for i in range(8) for half in range(2)]
            data = data[order]
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), data.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_file(folder: Path, weights: Path, model: object, tokenizer: object) -> dict[str, object]:
    """From a model file to a folder, and from changed weights to a model file."""
    file = folder / "tiny.gguf"
    original(weights, model, file)
    source = find(f"local:{file}", folder)
    made = models.folder_of(source, folder, lambda text: None)
    again = models.open_weights(made, GrpoSettings())
    ids = torch.tensor([[1, 50, 60, 70, 80]])
    with torch.no_grad():
        read = float((model(ids).logits - again(ids).logits).abs().max())
        for weight in again.parameters():
            weight.mul_(1.25)
    prompts = prompts_of(tokenizer)
    prompt = prompts.of(request("Hall. A long hall."))
    result = folder / "result"
    prints = []
    for weight in (again.model.layers[1].mlp.down_proj.weight, again.model.layers[0].self_attn.q_proj.weight):
        with torch.no_grad():
            weight[1, 1] += 0.5
        why = export.write(again, tokenizer, source, result, prompt="actions_brief", run="tiny", kind="f16")
        prints.append(fingerprint(result / "model.gguf"))
    tokens = {"prompt": prompts.tokens(prompt), "tails": prompts.tails(prompt, ACTIONS)}
    return {"read": read, "why": why, "likelihoods": likelihoods(again, tokenizer), "parameters": source.parameters,
            "vocabulary": source.vocabulary, "file": str(result), "prints": prints, **tokens}  # fmt: skip


def check_precision(folder: Path) -> list[str]:
    """Return the numbers of the weights with bf16: if all are trained, and with an adapter."""
    return [
        str(models.open_weights(folder, GrpoSettings(precision="bf16", lora_rank=rank)).dtype) for rank in (0, 4)
    ]


def check_merging(folder: Path, work: Path) -> float:
    """Write a model of bf16 with an adapter; return by which share a weight of it is wrong at most."""
    settings = GrpoSettings(precision="bf16", lora_rank=4)
    model = get_peft_model(models.open_weights(folder, settings), models.adapter(settings))
    set_seed(3)
    expected = {}
    for name, layer in model.base_model.model.named_modules():
        if hasattr(layer, "lora_B"):
            layer.lora_B["default"].weight.data.normal_(0, 0.01)
            part = layer.lora_B["default"].weight @ layer.lora_A["default"].weight * layer.scaling["default"]
            expected[name] = layer.base_layer.weight.detach().float() + part.detach()
    export.write(model, models.open_tokenizer(folder), find(str(folder), folder), work, prompt="", run="", kind="f16")
    written = models.open_weights(work / export.MERGED, GrpoSettings()).state_dict()
    return max(
        float(((written[f"{name}.weight"] - weight).abs() / (weight.abs() + 0.01)).max())
        for name, weight in expected.items()
    )


def main(folder: Path, weights: Path) -> None:
    tiny = folder / "tiny"
    model, tokenizer = make(tiny, weights)
    (folder / "result").mkdir()
    found = {
        "policy": check_policy(model, tokenizer),
        "grpo": check_grpo(tiny, folder / "grpo"),
        "sft": check_sft(tiny, folder / "sft"),
        "nan": check_nan(tiny, folder / "nan"),
        "file": check_file(folder, weights, model, tokenizer),
        "precision": check_precision(tiny),
        "merging": check_merging(tiny, folder / "merged"),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
