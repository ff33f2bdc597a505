"""The models of the contract as others have them: torchvision's, Hugging Face's, timm's, and small modules for the rest."""

import types

import torch
import torchvision
from torch import nn
from torch.nn import functional

BERT_SIZES = {
    "bert-tiny": {"layers": 2, "units": 128, "heads": 2},
    "bert-base": {"layers": 12, "units": 768, "heads": 12},
    "bert-large": {"layers": 24, "units": 1024, "heads": 16},
}
GPT2_SIZES = {
    "gpt2": {"layers": 12, "units": 768, "heads": 12},
    "gpt2-medium": {"layers": 24, "units": 1024, "heads": 16},
    "gpt2-large": {"layers": 36, "units": 1280, "heads": 20},
    "gpt2-xl": {"layers": 48, "units": 1600, "heads": 25},
}
GPT2_VOCABULARY, GPT2_POSITIONS = 50257, 1024
LLAMA_SIZES = {
    "llama-15m": {"layers": 6, "units": 288, "heads": 6, "hidden": 768, "tied": True},
    "llama-110m": {"layers": 12, "units": 768, "heads": 12, "hidden": 2048, "tied": True},
    "llama-7b": {"layers": 32, "units": 4096, "heads": 32, "hidden": 11008, "tied": False},
}
LLAMA_VOCABULARY, LLAMA_POSITIONS = 32000, 16384
NASNET_SIZES = {"nasnet-mobile": {"stem": 32, "filters": 44, "cells": 4}, "nasnet-large": {"stem": 96, "filters": 168, "cells": 6}}
# Models with dropout.
DROPOUT = (*BERT_SIZES, *GPT2_SIZES, "mobilenet-v2", "efficientnet-b0", "efficientnet-b2", *NASNET_SIZES, "lstm-lm")
VIT_IMAGES = {"layers": 12, "patch": 16, "height": 224, "width": 224, "classes": 1000}
VIT_SIZES = {"vit-b-16": {"units": 768, "heads": 12, **VIT_IMAGES}, "vit-s-16": {"units": 384, "heads": 6, **VIT_IMAGES}}
ATTENTION = (*BERT_SIZES, *GPT2_SIZES, *LLAMA_SIZES, *VIT_SIZES)  # models with attention
LSTM_SIZES = {"lstm": {"units": 128, "layers": 1, "sequence": 80, "vocabulary": 20000},
              "lstm-lm": {"units": 650, "layers": 2, "sequence": 35, "vocabulary": 10000}}
# Channels, height and width, and classes, for images that are not 3x224x224 of 1,000 classes.
IMAGES = {"mlp": (1, 28, 10), "lenet5": (1, 28, 10), "resnet20": (3, 32, 10), "efficientnet-b2": (3, 288, 1000),
          "nasnet-large": (3, 331, 1000)}
VOCABULARY, POSITIONS = 30522, 512


class Mlp(nn.Module):
    def __init__(self, width=512, depth=2):
        super().__init__()
        widths = [28 * 28] + [width] * depth + [10]
        self.depth = depth
        for i in range(depth + 1):
            self.add_module(f"fc{i + 1}", nn.Linear(widths[i], widths[i + 1]))

    def forward(self, images):
        x = images.flatten(1)
        for i in range(self.depth):
            x = functional.relu(getattr(self, f"fc{i + 1}")(x))
        return getattr(self, f"fc{self.depth + 1}")(x)


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, images):
        x = functional.max_pool2d(functional.relu(self.conv1(images)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(functional.relu(self.fc2(functional.relu(self.fc1(x)))))


class ResNet20(nn.Module):
    """He et al. 2015, section 4.2, made of torchvision's blocks."""

    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        channels = 16
        for stage in range(3):
            blocks = []
            for block in range(3):
                narrows = stage > 0 and block == 0
                wide, stride = 16 << stage, 2 if narrows else 1
                shortcut = None
                if narrows:
                    shortcut = nn.Sequential(nn.Conv2d(channels, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))
                blocks.append(torchvision.models.resnet.BasicBlock(channels, wide, stride, shortcut))
                nn.init.zeros_(blocks[-1].bn2.weight)
                channels = wide
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(64, classes)

    def forward(self, images):
        x = functional.relu(self.bn1(self.conv1(images)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean(dim=(2, 3)))


class Lstm(nn.Module):
    """Keras' IMDB example: the logit of class 1 of a text."""

    def __init__(self, units, layers, sequence, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, units)
        self.lstm = nn.LSTM(units, units, layers, batch_first=True)
        self.linear = nn.Linear(units, 1)

    def forward(self, ids):
        return self.linear(self.lstm(self.embedding(ids))[0][:, -1])


class LstmLanguageModel(nn.Module):
    """Zaremba et al. 2014, with the names of PyTorch's example word_language_model."""

    def __init__(self, units, layers, sequence, vocabulary, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocabulary, units)
        self.rnn = nn.LSTM(units, units, layers, batch_first=True, dropout=dropout if layers > 1 else 0)
        self.decoder = nn.Linear(units, vocabulary)

    def forward(self, ids):
        return self.decoder(self.drop(self.rnn(self.drop(self.encoder(ids)))[0]))


def bert(layers, units, heads, dropout, attention):
    try:
        from transformers import BertConfig, BertForMaskedLM
    except ImportError:
        import bert as own
        return own.Bert(types.SimpleNamespace(layers=layers, width=units, heads=heads, vocabulary=VOCABULARY,
                                              positions=POSITIONS, epsilon=1e-12, dropout=dropout))
    # pad_token_id is 0 by default, and would freeze the word embedding's first row.
    config = BertConfig(vocab_size=VOCABULARY, hidden_size=units, num_hidden_layers=layers, num_attention_heads=heads,
                        intermediate_size=4 * units, max_position_embeddings=POSITIONS, type_vocab_size=2, hidden_act="gelu",
                        layer_norm_eps=1e-12, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
                        pad_token_id=None, attn_implementation=attention)
    return BertForMaskedLM(config)


def gpt2(layers, units, heads, dropout, attention, vocabulary=GPT2_VOCABULARY):
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        import gpt2 as own
        return own.Gpt2(types.SimpleNamespace(layers=layers, width=units, heads=heads, vocabulary=vocabulary,
                                              positions=GPT2_POSITIONS, epsilon=1e-5, dropout=dropout))
    config = GPT2Config(vocab_size=vocabulary, n_positions=GPT2_POSITIONS, n_embd=units, n_layer=layers, n_head=heads,
                        activation_function="gelu_new", layer_norm_epsilon=1e-5, resid_pdrop=dropout, embd_pdrop=dropout,
                        attn_pdrop=dropout, use_cache=False, bos_token_id=None, eos_token_id=None,
                        attn_implementation=attention)
    return GPT2LMHeadModel(config)


def llama(layers, units, heads, hidden, tied, attention, vocabulary=LLAMA_VOCABULARY, kv_heads=0):
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        import llama as own
        return own.Llama(types.SimpleNamespace(layers=layers, width=units, heads=heads, kv_heads=kv_heads or heads,
                                               hidden=hidden, vocabulary=vocabulary, tied=tied, epsilon=1e-5))
    # Without rows that padding or other special tokens would freeze.
    config = LlamaConfig(vocab_size=vocabulary, hidden_size=units, intermediate_size=hidden, num_hidden_layers=layers,
                         num_attention_heads=heads, num_key_value_heads=kv_heads or heads, hidden_act="silu",
                         max_position_embeddings=LLAMA_POSITIONS, rms_norm_eps=1e-5, tie_word_embeddings=tied,
                         use_cache=False, pad_token_id=None, bos_token_id=None, eos_token_id=None,
                         attn_implementation=attention)
    return LlamaForCausalLM(config)


def vit(units, heads, layers, patch, height, width, classes):
    if height != width:
        raise ValueError("torchvision's vision transformer takes square images only")
    return torchvision.models.VisionTransformer(image_size=height, patch_size=patch, num_layers=layers, num_heads=heads,
                                                hidden_dim=units, mlp_dim=4 * units, num_classes=classes)


def mobilenet_v2(options, dropout):
    return torchvision.models.mobilenet_v2(num_classes=options.get("classes", 1000),
                                           width_mult=options.get("width-multiplier", 100) / 100, dropout=dropout)


def efficientnet(family, options, dropout):
    """With stochastic depth only where there is dropout, as in epochbench."""
    if "width-multiplier" in options:
        raise ValueError("no module is known for EfficientNets of another width")
    return getattr(torchvision.models, family.replace("-", "_"))(num_classes=options.get("classes", 1000),
                                                                 dropout=dropout,
                                                                 stochastic_depth_prob=0.2 if dropout > 0 else 0.0)


def nasnet(family, options, dropout):
    """timm's class, which has six cells per stage, with as many as the model has, numbered as there."""
    from timm.models.nasnet import NASNetALarge

    class NasNet(NASNetALarge):
        def __init__(self, cells, **arguments):
            super().__init__(**arguments)
            self.names = [[f"cell_{6 * stage + cell}" for cell in range(cells)] for stage in range(3)]
            for name in {f"cell_{number}" for number in range(18)}.difference(*self.names):
                delattr(self, name)

        def forward_features(self, images):
            image = self.conv0(images)
            before = self.cell_stem_0(image)
            x = self.cell_stem_1(image, before)
            for stage, names in enumerate(self.names):
                for name in names:
                    previous, before = before, x
                    if stage > 0 and name == names[0]:
                        x = before = getattr(self, f"reduction_cell_{stage - 1}")(x, previous)
                    x = getattr(self, name)(x, previous)
            return self.act(x)

    sizes = NASNET_SIZES[family] | options
    if not 2 <= sizes["cells"] <= 6:
        raise ValueError("no module is known for NASNets of less than two or more than six cells per stage")
    return NasNet(sizes["cells"], num_classes=sizes.get("classes", 1000), stem_size=sizes["stem"],
                  num_features=24 * sizes["filters"], drop_rate=dropout)


def split_name(name):
    """'mlp:depth=3,width=64' -> 'mlp', {'depth': 3, 'width': 64}."""
    family, _, options = name.partition(":")
    pairs = (option.split("=") for option in options.split(",") if option)
    return family, {key: int(value) for key, value in pairs}


def build(name, dropout=0.0, attention="eager"):
    """The module for a model's name, in training mode. dropout applies to the models of DROPOUT, attention ("eager" or "sdpa") to
    BERT, GPT-2 and Llama, whose modules for a Python without transformers have only "sdpa"."""
    family, options = split_name(name)
    if family == "mlp":
        model = Mlp(**options)
    elif family == "lenet5":
        model = LeNet5()
    elif family == "resnet20":
        model = ResNet20(options.get("classes", 10))
    elif family in ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152"):
        model = getattr(torchvision.models, family)(zero_init_residual=True, num_classes=options.get("classes", 1000))
    elif family in BERT_SIZES:
        options.pop("sequence", None)  # the batch's
        model = bert(**(BERT_SIZES[family] | options), dropout=dropout, attention=attention)
    elif family in GPT2_SIZES:
        options.pop("sequence", None)
        model = gpt2(**(GPT2_SIZES[family] | options), dropout=dropout, attention=attention)
    elif family in LLAMA_SIZES:
        options.pop("sequence", None)
        sizes = LLAMA_SIZES[family] | {key.replace("-", "_"): value for key, value in options.items()}
        model = llama(**sizes, attention=attention)
    elif family == "mobilenet-v2":
        model = mobilenet_v2(options, dropout)
    elif family in ("efficientnet-b0", "efficientnet-b2"):
        model = efficientnet(family, options, dropout)
    elif family in NASNET_SIZES:
        model = nasnet(family, options, dropout)
    elif family in VIT_SIZES:
        model = vit(**(VIT_SIZES[family] | options))
    elif family == "lstm":
        model = Lstm(**(LSTM_SIZES[family] | options))
    elif family == "lstm-lm":
        model = LstmLanguageModel(**(LSTM_SIZES[family] | options), dropout=dropout)
    else:
        raise ValueError(f"no module is known for model '{name}'")
    return model.train()


def mixed(rows, share):
    """Mixup: the share of each row, plus the rest from its neighbor in the pairs 0 and 1, 2 and 3, and so on."""
    neighbor = (torch.arange(len(rows)) ^ 1).clamp(max=len(rows) - 1)
    share = share.to(rows.dtype).reshape(-1, *[1] * (rows.dim() - 1))
    return share * rows + (1 - share) * rows[neighbor]


def loss(model, batch, label_smoothing=0.0):
    """The mean loss of a batch as a trace stores it."""
    labels = batch["labels"].long()
    if "share" in batch:
        images, targets = mixed(batch["images"], batch["share"]), functional.one_hot(labels)
        logits = model(images)
        targets = mixed(functional.pad(targets, (0, logits.shape[1] - targets.shape[1])).to(logits.dtype), batch["share"])
        return functional.cross_entropy(logits, targets, label_smoothing=label_smoothing)
    if "images" in batch:
        return functional.cross_entropy(model(batch["images"]), labels, label_smoothing=label_smoothing)
    ids = batch["input_ids"].long()
    if "masked_positions" not in batch:
        output = model(ids)
        logits = output if hasattr(output, "shape") else output[0]
        if logits.shape[-1] > 1:  # at every position
            return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=label_smoothing)
        targets = labels * (1 - label_smoothing) + label_smoothing / 2
        return functional.binary_cross_entropy_with_logits(logits[:, 0], targets)
    positions = batch["masked_positions"].long()
    hidden = model.bert(input_ids=ids)[0]
    masked = hidden.gather(1, positions.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
    return functional.cross_entropy(model.cls(masked).flatten(0, 1), labels.flatten(), label_smoothing=label_smoothing)
